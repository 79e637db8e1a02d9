"""What work costs, as manifests record it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Usage:
    """What a piece of work cost."""

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0


def peak_mb() -> float:
    """Peak resident memory of this process so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the process was before exec, too
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    try:
        import resource  # noqa: PLC0415 - Windows has none
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1024 if os.uname().sysname == "Linux" else 1024**2), 1)
