"""Runs that are killed at random moments and started again: ``python -m benchmarks.kills``.

A synthetic county with its truth and attackers' files goes through every stage from the
population to the scores, by ``recon run`` and in shards with ``recon run --merge``. The parent, a
worker or both get SIGKILL at a seeded moment of each stage; then the same command is given until
it succeeds, and every file must be as in an undisturbed run but for times and memory in
manifests. Likewise after SIGTERM, and after a cap on memory (RLIMIT_AS) that comes at a seeded
moment; both must end the run within ten seconds, in one line (or the words of a library that ends
the process). Exits with 1 if anything is not as it must be. Linux only.

``--every-stage`` kills a small office's run instead, which has all other stages, an audit and a
joint run of two releases among them, until a kill has landed in each stage by name.
"""

from __future__ import annotations

import argparse
import itertools
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from recon_cli.config import load_config
from recon_cli.pipeline.order import stages_of
from tests.support.all_stages import RUNS, write_inputs
from tests.support.killing import (
    KILLS,
    WHOLE,
    Life,
    Stop,
    leftovers,
    live,
    live_for,
    snapshot,
    started,
    workers,
)

STAGES: Final = (
    *("synth", "attacker", "swap", "tabulate", "ingest"),
    *("reconstruct", "solvar", "claims", "link", "score"),
)
SHARDED: Final = ("reconstruct", "solvar", "link")
#: Stages of so few people are done in the parent.
_IN_PARENT: Final = (*WHOLE, "swap")
_CONFIG: Final = """\
release: sf1_2010
work: work
seed: 1
workers: 2
synth: {people: 1200, people_per_county: 400, people_per_tract: 200}
swap: {setting: targeted, study_seed: 1}
tabulate: {records: work/hdf, to: work/published.study.parquet}
ingest: {source: tidy, paths: [work/published.study.parquet]}
reconstruct: {tables: block+tract}
solvar: {intervals: propagation}
claims:
link:
score:
"""
#: How long a stop may take, and how long one start of a command.
_SECONDS: Final = 10.0
_START: Final = 300.0
#: Most seconds between an event of a stage and the kill.
_SECOND: Final = 0.3
#: Runs at most until a kill has landed in every stage.
_RIDES: Final = 12
_TERM: Final = Stop(signal.SIGTERM, "parent", (143,))
#: Exit codes of a run whose memory was capped: it was enough, or not; 1 and SIGABRT: of a library.
_CAPPED: Final = (0, 1, 9, 11, -signal.SIGABRT)
#: What polars and OpenBLAS say before they end the process.
_WORDS: Final = ("memory allocation of", "OpenBLAS error: ")
#: Most bytes that a capped process may still take.
_ROOM: Final = 64 << 20


@dataclass
class Trial:
    """What was done to one work folder after the other, and what came of it.

    Attributes:
        folder: Where they lie.
        rng: Chooses moments.
        expected: Name → content of an undisturbed run.
        durations: Seconds of commands that nobody stopped.
        lives: Stage and what became of it, of those that were stopped.
        wrong: What is not as it must be.
        text: The config.
        stages: Its stages, in order.
    """

    folder: Path
    rng: random.Random
    expected: dict[str, object] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)
    lives: list[tuple[str, Life]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    text: str = _CONFIG
    stages: tuple[str, ...] = STAGES
    _number: int = 0

    def new_run(self) -> Path:
        """Return the config of a run that has not begun."""
        self._number += 1
        home = self.folder / f"run{self._number}"
        home.mkdir()
        write_inputs(home)
        (home / "recon.yaml").write_text(self.text)
        return home / "recon.yaml"

    def undisturbed(self, config: Path, *command: str) -> None:
        """Run a command to its end, and remember how long it took.

        Raises:
            RuntimeError: It failed.
        """
        since = time.monotonic()
        with started([*command, "-c", str(config), "-q"]) as process:
            said = process.communicate(timeout=_START)[1]
        self.durations.setdefault(" ".join(command), time.monotonic() - since)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}: {said}")

    def note(self, what: str, life: Life) -> None:
        """Remember how a command was stopped, and whether it ended as it must."""
        if life.stop is not None:
            self.lives.append((what, life))
        if not life.is_expected:
            self.wrong.append(f"{what}: {life}")

    def compare(self, config: Path) -> None:
        """Test whether all files of a run are those of the undisturbed one."""
        work = config.parent / "work"
        found = snapshot(work)
        if not self.expected:
            self.expected = found
        for name in sorted(set(found) ^ set(self.expected)):
            self.wrong.append(f"{config.parent.name}: {name} is there in one of two runs only")
        for name in sorted(set(found) & set(self.expected)):
            if found[name] != self.expected[name]:
                self.wrong.append(f"{config.parent.name}: {name} is another")
        self.wrong += [f"{config.parent.name}: left behind: {name}" for name in leftovers(work)]

    def killed(self, kills: int) -> None:
        """Runs stage by stage, and in shards, until there were enough kills."""
        for ride in itertools.count():
            config = self.new_run()
            for stage in STAGES:
                if len(self.lives) >= kills:
                    break
                if ride % 2 and stage in SHARDED:
                    self._kill_shards(config, stage)
                else:
                    self._kill_stage(config, stage)
            self.undisturbed(config, "run")
            self.compare(config)
            _say(f"{config.parent.name}: {len(self.lives)} stopped, wrong: {self.wrong or 'none'}")
            if len(self.lives) >= kills:
                return

    def killed_in_each(self, rides: int) -> None:
        """Runs whose stages are killed one by one, until a kill has landed in each of them."""
        missing = set(self.stages)
        for ride in range(rides):
            config = self.new_run()
            for stage in (each for each in self.stages if each in missing):
                self._kill_stage(config, stage, _SECOND / (1 + ride), "stage_started")
                name, life = self.lives[-1] if self.lives else ("", None)
                if life is not None and name == stage and stage not in life.passed:
                    missing.discard(stage)
            self.undisturbed(config, "run")
            self.compare(config)
            _say(f"{config.parent.name}: not yet killed: {', '.join(sorted(missing)) or 'none'}")
            if not missing:
                return
        self.wrong.append(f"no kill landed in {', '.join(sorted(missing))}")

    def _kill_stage(
        self, config: Path, stage: str, later: float = _SECOND, event: str = ""
    ) -> None:
        ways = [way for way in KILLS if way.victim != "worker" or stage not in _IN_PARENT]
        stop = self.rng.choice(ways)
        arguments = ["-c", str(config), "--until", stage]
        self.note(stage, live(arguments, self.rng, (stage,), (), (stop,), later=later, event=event))
        self.undisturbed(config, "run", "--until", stage)

    def _kill_shards(self, config: Path, stage: str) -> None:
        """Two shards at once, one of which is killed; then the merge, too."""
        shards = [(stage, "--shard", f"{number}/2") for number in (1, 2)]
        with started([*shards[1], "-c", str(config), "-q"]) as other:
            self._kill_command(config, shards[0], self.rng.choice(KILLS))
            other.communicate(timeout=_START)
        for shard in shards:
            self.undisturbed(config, *shard)
        self._kill_command(config, ("run", "--merge", stage), KILLS[0])
        self.undisturbed(config, "run", "--merge", stage)

    def _kill_command(self, config: Path, command: tuple[str, ...], stop: Stop) -> None:
        moment = self.rng.uniform(0, self.durations[" ".join(command)])
        life = live_for([*command, "-c", str(config), "-q"], stop, moment)
        self.note(" ".join(command[:2]).removesuffix(" --shard"), life)

    def terminated(self, stops: int) -> None:
        """SIGTERM to the parent, stage by stage; the run must end soon, in one line."""
        for config, stage in self._stages_of_runs(stops):
            arguments = ["-c", str(config), "--until", stage]
            life = live(arguments, self.rng, (stage,), (), (_TERM,))
            if life.code == -signal.SIGTERM and stage in life.passed:
                continue  # Python was already ending; there was nothing left to stop
            self.note(stage, life)
            if life.stop is not None and not _is_one_line(life, "terminated; "):
                self.wrong.append(f"{stage}: SIGTERM: {life}")

    def capped(self, caps: int) -> None:
        """A cap on memory at a random moment; the run must end soon, in one line, or succeed."""
        for config, stage in self._stages_of_runs(caps):
            life = self._capped(config, stage)
            self.note(stage, life)
            if life.code != 0 and not _says_memory(life):
                self.wrong.append(f"{stage}: memory: {life}")

    def _capped(self, config: Path, stage: str) -> Life:
        seconds = self.durations.get(f"run --until {stage}", 5.0)
        room = self.rng.randrange(_ROOM)
        with started(["run", "-c", str(config), "--until", stage, "-q"]) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(self.rng.uniform(0.3, seconds))
            since = time.monotonic()
            for pid in (process.pid, *workers(process.pid)):
                _cap(pid, room)
            said = process.communicate(timeout=_START)[1]
        stop = Stop(signal.SIGSEGV, "all", _CAPPED)
        ended = time.monotonic() - since
        return Life(stop, f"{room >> 20} MB", process.returncode, (), said[-3_000:], ended)

    def _stages_of_runs(self, number: int) -> Iterator[tuple[Path, str]]:
        """Config and stage, this many; each stage is then completed, each run compared."""
        left = number
        while left > 0:
            config = self.new_run()
            for stage in STAGES[:left]:
                yield config, stage
                self.undisturbed(config, "run", "--until", stage)
            left -= len(STAGES)
            self.undisturbed(config, "run")
            self.compare(config)
            _say(f"{config.parent.name}: {len(self.lives)} stopped, wrong: {self.wrong or 'none'}")


def _cap(pid: int, room: int) -> None:
    """Let a process have no more address space than now, and this many bytes."""
    with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + room
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))


def _is_one_line(life: Life, beginning: str) -> bool:
    """Test whether it ended in time, with one line that begins so."""
    lines = life.said.splitlines()
    return life.seconds <= _SECONDS and len(lines) == 1 and lines[0].startswith(beginning)


def _says_memory(life: Life) -> bool:
    """Whether it ended in time, with a line of ours at the end, or in a library's own words."""
    if life.seconds > _SECONDS or "Traceback" in life.said:
        return False
    if life.code in (1, -signal.SIGABRT):
        return life.said.startswith(_WORDS)
    return life.said.splitlines()[-1:] != [] and life.said.splitlines()[-1].startswith("error: ")


def _table(lives: list[tuple[str, Life]]) -> Iterator[str]:
    yield "| stage | parent | worker | both | slowest end |"
    yield "|---|--:|--:|--:|--:|"
    for stage in [*dict.fromkeys(stage for stage, _ in lives), "all"]:
        own = [life for name, life in lives if stage in (name, "all")]
        counts = (
            sum(life.stop is not None and life.stop.victim == victim for life in own)
            for victim in ("parent", "worker", "all")
        )
        ended = [life.seconds for life in own if life.code != 0]
        slowest = f"{max(ended):.1f} s" if ended else "–"
        yield f"| {stage} | {' | '.join(map(str, counts))} | {slowest} |"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Stop, resume, tell, and say by the exit code whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--terminations", type=int, default=10)
    parser.add_argument("--caps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every-stage", action="store_true", help="kill an office's run instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        rng = random.Random(given.seed)  # noqa: S311 - to repeat it
        if given.every_stage:
            return _every_stage(Trial(Path(scratch), rng, text=_office()))
        trial = Trial(Path(scratch), rng)
        _undisturbed(trial, sharded=given.kills > 0)
        for name, stops, number in (
            ("SIGKILL", trial.killed, given.kills),
            ("SIGTERM", trial.terminated, given.terminations),
            ("memory", trial.capped, given.caps),
        ):
            if number:
                trial.lives = []
                stops(number)
                _say(f"\n{name}\n\n" + "\n".join(_table(trial.lives)))
                _say("exit codes: " + ", ".join(str(life.code) for _, life in trial.lives))
    files = sum(name.endswith(".parquet") for name in trial.expected)
    _say(f"\n{len(trial.expected):,} files, {files:,} of them Parquet; not as it must be: ")
    _say("\n".join(trial.wrong) or "nothing")
    return int(bool(trial.wrong))


def _office() -> str:
    """Return the config with every stage, with seeds in place of secret chance."""
    config = yaml.safe_load(RUNS["office"])
    for name in ("round", "cellkey", "noise", "topdown", "randomize"):
        config[name]["study_seed"] = 1
    config["compare"]["protections"]["rounded"]["round"]["study_seed"] = 1
    del config["report"]  # it shows times
    return yaml.safe_dump({**config, "workers": 2}, sort_keys=False)


def _every_stage(trial: Trial) -> int:
    """Kill a run in each stage by name, and say whether all is as it must be."""
    config = trial.new_run()
    trial.undisturbed(config, "run")
    trial.compare(config)
    trial.stages = tuple(each.short_name for each in stages_of(load_config(config)))
    trial.killed_in_each(_RIDES)
    _say("\n" + "\n".join(_table(trial.lives)))
    _say(f"\n{len(trial.expected):,} files; not as it must be: ")
    _say("\n".join(trial.wrong) or "nothing")
    return int(bool(trial.wrong))


def _undisturbed(trial: Trial, *, sharded: bool) -> None:
    """Tell what is to be made, and how long it takes."""
    config = trial.new_run()
    for stage in STAGES:
        trial.undisturbed(config, "run", "--until", stage)
    trial.compare(config)
    if not sharded:
        return
    config = trial.new_run()
    for stage in STAGES:
        if stage not in SHARDED:
            trial.undisturbed(config, "run", "--only", stage)
            continue
        for number in (1, 2):
            trial.undisturbed(config, stage, "--shard", f"{number}/2")
        trial.undisturbed(config, "run", "--merge", stage)
    trial.compare(config)


if __name__ == "__main__":
    sys.exit(main())
