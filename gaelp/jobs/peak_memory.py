"""The most memory that this process has used."""

import resource
from pathlib import Path

__all__ = ["peak_memory_mb"]

_STATUS = Path("/proc/self/status")


def peak_memory_mb() -> float:
    """In MB. Linux's own record is preferred: `getrusage` counts the process that this one was started from, too."""
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
