"""How loops are compiled: numba, kept on disk between runs, never stale.

Numba notices a change in the file that holds a function, but not in the functions it calls elsewhere; a market would
then go on with old random numbers or an old reward. So compiled code older than any source is dropped before use.
"""

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numba as nb

__all__ = ["compiled", "drop_stale", "inlined", "summing"]

P = ParamSpec("P")
R = TypeVar("R")


def drop_stale(package: Path) -> int:
    """Delete compiled code below a package if any of its sources is newer; returns how many files went."""
    kept = {path: _changed_at(path) for path in package.rglob("*.nb[ci]")}
    newest = max((_changed_at(source) for source in package.rglob("*.py")), default=0)
    if all(changed >= newest for changed in kept.values()):
        return 0
    for path in kept:
        path.unlink(missing_ok=True)
    return len(kept)


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # another process dropped it at the same moment
        return 0


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call and keep the result on disk."""
    result: Callable[P, R] = nb.njit(cache=True, error_model="numpy")(function)
    return result


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function into its callers."""
    result: Callable[P, R] = nb.njit(inline="always", error_model="numpy")(function)
    return result


def summing(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that adds up many numbers; the compiler may reorder the sum, the same way each time."""
    result: Callable[P, R] = nb.njit(cache=True, error_model="numpy", fastmath={"reassoc", "nsz", "nnan", "contract"})(
        function
    )
    return result


# Not at the first call: numba reads its index when a function is decorated.
drop_stale(Path(__file__).parent)
