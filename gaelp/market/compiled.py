"""How loops are compiled: numba, kept on disk between runs, never stale.

Numba notices a change in the file that holds a function, but not in the functions it calls elsewhere; a market would
then continue with old random numbers or an old reward. So compiled code older than any source is dropped before use.
Where that cannot be done, or numba finds no folder to write to, every process compiles for itself.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba as nb

__all__ = ["compiled", "compiled_part", "drop_stale", "inlined", "summing"]

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = Path(__file__).parent


def drop_stale(folder: Path, package: Path) -> int:
    """Delete the compiled code in a folder if any source of the package is newer; returns how many files went."""
    kept = {path: _changed_at(path) for path in folder.glob("*.nb[ci]")}
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
    return _kept(function)


def compiled_part(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only compiled functions call: it is kept on disk with them, and takes less time."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # numba's types do not list them
    result: Callable[P, R] = nb.njit(error_model="numpy", **options)(function)
    return result


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function into its callers."""
    result: Callable[P, R] = nb.njit(inline="always", error_model="numpy")(function)
    return result


def summing(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that adds up many numbers; the compiler may reorder the sum, the same way each time."""
    return _kept(function, fastmath={"reassoc", "nsz", "nnan", "contract"})


def _kept(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    try:
        result = nb.njit(cache=True, error_model="numpy", **options)(function)
        # Numba's own switch for debugging, NUMBA_DISABLE_JIT, leaves functions as they are.
        usable = result is function or _only_fresh_code_in(result.stats.cache_path, _folder_of(function))
    except RuntimeError:  # numba found no folder it may write to
        usable = False
    # Numba reads its index at the first call, so what was dropped until then is compiled again.
    kept: Callable[P, R] = result if usable else nb.njit(error_model="numpy", **options)(function)
    return kept


def _folder_of(function: Callable[P, R]) -> Path:
    return Path(function.__code__.co_filename).parent


@cache
def _only_fresh_code_in(folder: str, package: Path) -> bool:
    """Whether a folder of numba's (beside the source, of the user, or NUMBA_CACHE_DIR) now holds nothing stale.

    Loops of other packages call functions of this one, so its sources count for them too.
    """
    try:
        drop_stale(Path(folder), _PACKAGE)
        drop_stale(Path(folder), package)
    except OSError:
        return False
    return True
