"""A Slurm of one node on this machine, for tests; its files and sockets are in one folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "mungekey", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")
_KEY = ("mungekey", "-c", "-k")
#: Where Debian installs daemons.
_PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
_CONFIG = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MessageTimeout=100
BatchStartTimeout=120
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
NodeName=localhost NodeAddr=127.0.0.1 CPUs=4 RealMemory=16000 State=UNKNOWN
PartitionName=normal Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Return why no Slurm can be started here; empty if one can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]
    if missing:
        return f"{missing[0]} is not installed: slurmctld, slurmd, slurm-client, munge"
    return "" if os.geteuid() == 0 else "slurmctld and slurmd are started by root alone"


@dataclass(frozen=True)
class Slurm:
    """A running Slurm.

    Attributes:
        environment: For its commands.
    """

    environment: Mapping[str, str]

    def run(self, *command: str, cwd: Path) -> str:
        """Run a command, and return what it prints."""
        done = subprocess.run(
            command, cwd=cwd, env=dict(self.environment), check=True, capture_output=True, text=True
        )
        return done.stdout

    def wait(self, seconds: float, cwd: Path) -> None:
        """Wait until no job is left; release those that could not be launched at first.

        A busy machine may take longer to start a job than its node allows.

        Raises:
            TimeoutError: Some are.
        """
        end = time.monotonic() + seconds
        while left := self.run("squeue", "--noheader", "--format=%A %r", cwd=cwd).strip():
            for line in left.splitlines():
                job, _, reason = line.partition(" ")
                if "held" in reason:
                    self.run("scontrol", "release", job, cwd=cwd)
            if time.monotonic() > end:
                raise TimeoutError(self.run("squeue", cwd=cwd))
            time.sleep(0.2)


@contextmanager
def slurm(variables: Mapping[str, str]) -> Iterator[Slurm]:
    """Start a Slurm, and stop it at the end.

    Its files are in a folder with a short name: each step has a socket there, whose path may have
    108 characters.

    Args:
        variables: Environment variables of its commands and jobs.
    """
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    folder.chmod(0o755)  # munged asks that others can reach its socket
    config = folder / "slurm.conf"
    controller, node = _free_port(), _free_port()
    config.write_text(_CONFIG.format(folder=folder, controller=controller, node=node))
    path = f"{Path(sys.executable).parent}:{_PATH}"
    environment = {**os.environ, "PATH": path, "SLURM_CONF": str(config), **variables}
    key = folder / "munge.key"
    subprocess.run((*_KEY, key), check=True, env=environment)
    munged: list[str | Path] = [
        *("munged", "--foreground", "--force", "--key-file", key),
        *("--socket", folder / "munge.socket", "--pid-file", folder / "munge.pid"),
        *("--log-file", folder / "munge.log", "--seed-file", folder / "munge.seed"),
    ]
    started: list[subprocess.Popen[bytes]] = []
    try:
        cluster = Slurm(environment)

        def shown() -> str:
            return cluster.run("scontrol", "show", "node", cwd=folder)

        daemons: tuple[tuple[list[str | Path], Callable[[], bool]], ...] = (
            (munged, (folder / "munge.socket").exists),
            (["slurmctld", "-D"], lambda: _is_open(controller)),
            (["slurmd", "-D", "-N", "localhost"], lambda: "State=IDLE" in shown()),
        )
        for command, is_there in daemons:
            with (folder / f"{command[0]}.out").open("wb") as out:
                started.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out))
            end = time.monotonic() + 30
            while not is_there():
                if time.monotonic() > end:
                    raise TimeoutError(f"{command[0]} does not start: {folder}")
                time.sleep(0.1)
        yield cluster
    finally:
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def _is_open(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
