"""Read what an attempt stored of itself, to be shown beside its verdict."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gaelp.config.base import Frozen
from gaelp.gates.verdict_context import VerdictContext
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.run_folder import PhaseFolder

__all__ = ["attempt_context"]

_Details = TypeVar("_Details", bound=Frozen)


def attempt_context(
    result: PhaseResult,
    home: Path,
    details: type[_Details],
    show: Callable[[_Details, PhaseFolder, PhaseResult], VerdictContext],
) -> VerdictContext:
    """Show an attempt from its stored details. A file that cannot be read is named; it closes no gate."""
    folder = result.folder(home)
    try:
        stored = details.model_validate_json(folder.details.read_bytes())
    except (OSError, ValueError) as problem:  # pydantic's own error is a ValueError
        first = (str(problem).splitlines() or [type(problem).__name__])[0]
        return VerdictContext(facts=(("records of the run", f"cannot be read: {first}"),))
    return show(stored, folder, result)
