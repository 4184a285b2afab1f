"""Count the runs judged on the same data: each further look makes it likelier that one passes by luck."""

from datetime import datetime
from pathlib import Path

from gaelp.config.places import absolute
from gaelp.errors import DataError
from gaelp.phases.old_runs import move_old_files
from gaelp.phases.phase_result import PhaseResult, read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.types import RunId

__all__ = ["look_text", "looks_so_far"]


def looks_so_far(home: Path, result: PhaseResult) -> int:
    """Return how many runs below the home were judged on the data of this one so far, this one included.

    A result that cannot be read counts as a look.
    """
    until = result.verdict.evidence.measured_at
    runs = {result.run_id}
    for folder in (absolute(home) / "runs").glob("*"):
        try:
            move_old_files(RunFolder(home, RunId(folder.name)))
        except DataError:
            runs.add(folder.name)
    for path in (absolute(home) / "runs").glob(f"*/{result.phase}/*/result*.json"):
        if _is_look(path, result.judged_on, until):
            runs.add(path.parents[2].name)
    return len(runs)


def look_text(looks: int) -> str:
    """The number of looks as text, such as `the 2nd run judged on these data`."""
    if looks == 1:
        return "the first run judged on these data"
    ending = "th" if 10 <= looks % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(looks % 10, "th")
    return f"the {looks}{ending} run judged on these data"


def _is_look(path: Path, judged_on: str, until: datetime) -> bool:
    try:
        other = read_result(path)
    except DataError:
        return True
    return other.judged_on == judged_on and other.verdict.evidence.measured_at <= until
