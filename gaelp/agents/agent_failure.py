"""Report an exception of a third party's agent as its own: with its file and line, never as a defect of GAELP."""

import importlib.metadata
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import unwrap
from pathlib import Path
from typing import Any

from gaelp.agents.out_of_memory import is_out_of_memory
from gaelp.config.places import shown
from gaelp.errors import GaelpError

__all__ = ["agent_failure", "definition_place", "failed_line"]

_OURS = __name__.partition(".")[0]
# Whose lines are on the way from GAELP to the agent's module.
_LOADERS = frozenset(
    Path(module.__file__).resolve() for module in (importlib, importlib.metadata) if module.__file__ is not None
) | {Path(__file__).resolve().with_name("catalog.py")}


@contextmanager
def agent_failure(agent: str, method: str, code: Callable[..., Any], owner: str) -> Iterator[None]:
    """Name the agent, the method, the file and the line of an exception that the agent's code raises inside.

    `code` is what is called inside and `owner` the module of the agent; a call that does not fit its signature counts
    as its failure too. Errors of GAELP and too little memory are left to the training loop.
    """
    try:
        yield
    except Exception as problem:  # whatever a third party's code raises is reported, not hidden
        if isinstance(problem, GaelpError) or is_out_of_memory(problem):
            raise
        place = _place(problem, code, owner)
        if place is None:
            raise
        reason = str(problem).strip() or "no message"
        raise GaelpError(
            f"your agent {agent} raised {type(problem).__name__}: {reason}\n"
            f"at {place}, in {method}. Correct the agent there; --debug shows the whole traceback."
        ) from problem


def _place(problem: Exception, code: Callable[..., Any], owner: str) -> str | None:
    """The innermost line of the agent's own files, or the signature that did not fit; None if it is not the agent's."""
    frames = traceback.extract_tb(problem.__traceback__)
    function = unwrap(code)
    files = _files_of(owner) + _files_of(function.__module__)
    for frame in reversed(frames):
        if _is_in(frame.filename, files):
            return f"{shown(Path(frame.filename))}:{frame.lineno}"
    called = getattr(function, "__code__", None) or getattr(getattr(function, "__init__", None), "__code__", None)
    # The frame of this function and the one that made the call: nothing of the method itself ran.
    if called is None or len(frames) > 2 or not _is_in(called.co_filename, files):
        return None
    return f"{shown(Path(called.co_filename))}:{called.co_firstlineno}"


def definition_place(function: Callable[..., Any]) -> str:
    """The file and line at which a function of an agent is defined; its module where that is not known."""
    code = getattr(unwrap(function), "__code__", None)
    return f"{shown(Path(code.co_filename))}:{code.co_firstlineno}" if code else str(function.__module__)


def failed_line(problem: BaseException) -> str:
    """The file and line at which importing an agent failed; empty if none of its lines ran."""
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{shown(Path(problem.filename))}:{problem.lineno}"
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith("<frozen ")]
    own = [frame for frame in own if not _is_loader(Path(frame.filename).resolve())]
    return f"{shown(Path(own[-1].filename))}:{own[-1].lineno}" if own else ""


def _is_loader(path: Path) -> bool:
    """Python's own loaders, or the backport that takes over entry points once a package has imported it."""
    return path in _LOADERS or path.parent.name == "importlib_metadata"


def _files_of(module: str) -> tuple[Path, ...]:
    """The folders or the file of the top package of a module; nothing for GAELP's own."""
    top = module.partition(".")[0]
    if top == _OURS or top not in sys.modules:
        return ()
    package = sys.modules[top]
    places = list(getattr(package, "__path__", ())) or [getattr(package, "__file__", None)]
    return tuple(Path(place).resolve() for place in places if place)


def _is_in(filename: str, files: tuple[Path, ...]) -> bool:
    path = Path(filename).resolve()
    return any(path == place or place in path.parents for place in files)
