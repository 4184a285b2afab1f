"""Count the runs judged on the same data: each further look makes it likelier that one passes by luck.

Homes that share a PostgreSQL count together: each records its looks in the shared audit log.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gaelp.approvals import AuditLog, AuditRow, approvals_place, open_database
from gaelp.approvals.canonical import parse
from gaelp.authority.audit_records import check_approvals_kept
from gaelp.clock import SystemClock
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.errors import DataError
from gaelp.phases.old_runs import move_old_files
from gaelp.phases.phase_result import PhaseResult, read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.types import RunId

__all__ = ["LOOK", "look_fact", "look_text", "looks_so_far"]

LOOK = "evaluation.look"  # the kind of a row in the audit log


def looks_so_far(settings: Settings, result: PhaseResult) -> int:
    """Return how many runs were judged on the data of this one so far, this one included.

    A result that cannot be read counts as a look.
    """
    looks = _looks_of_home(absolute(settings.home), result)
    if settings.budget.database_url is not None:
        looks = _record_and_read(settings, result, looks)
    return sum(measured_at <= result.verdict.evidence.measured_at for measured_at in looks.values())


def _looks_of_home(home: Path, result: PhaseResult) -> dict[str, datetime]:
    """The runs below the home that were judged on the same data, and when first."""
    until = result.verdict.evidence.measured_at
    looks = {str(result.run_id): until}
    for folder in (home / "runs").glob("*"):
        try:
            move_old_files(RunFolder(home, RunId(folder.name)))
        except DataError:
            _add(looks, folder.name, until)
    for path in (home / "runs").glob(f"*/{result.phase}/*/result*.json"):
        try:
            other = read_result(path)
        except DataError:
            _add(looks, path.parents[2].name, until)
        else:
            if other.judged_on == result.judged_on:
                _add(looks, path.parents[2].name, other.verdict.evidence.measured_at)
    return looks


def _record_and_read(settings: Settings, result: PhaseResult, own: dict[str, datetime]) -> dict[str, datetime]:
    """Add the looks of this home that the shared audit log lacks, and return those of all homes."""
    check_approvals_kept(settings)
    data = {"phase": result.phase.value, "judged_on": result.judged_on}
    looks: dict[str, datetime] = {}

    def missing(rows: tuple[AuditRow, ...]) -> Iterator[dict[str, str]]:
        for body in (parse(row.checked_body()) for row in rows):
            if {name: body[name] for name in data} == data:
                _add(looks, body["run_id"], datetime.fromisoformat(body["measured_at"]))
        for run_id, measured_at in sorted(own.items()):
            if _add(looks, run_id, measured_at):
                yield {**data, "run_id": run_id, "measured_at": measured_at.astimezone(UTC).isoformat()}

    AuditLog(open_database(approvals_place(settings))).append_following(LOOK, missing, SystemClock().now())
    return looks


def _add(looks: dict[str, datetime], run_id: str, measured_at: datetime) -> bool:
    """Keep the first look of each run; whether this is the first so far."""
    is_first = run_id not in looks or measured_at < looks[run_id]
    if is_first:
        looks[run_id] = measured_at
    return is_first


def look_fact(looks: int, attempt: int) -> tuple[str, str]:
    """What a person who decides has to know of earlier looks, as a label and its text."""
    luck = "the more runs are judged on the same data, the likelier one of them passes by luck"
    return "runs judged so far", f"this is {look_text(looks)}; {luck}. Attempt {attempt} of this run"


def look_text(looks: int) -> str:
    """The number of looks as text, such as `the 2nd run judged on these data`."""
    if looks == 1:
        return "the first run judged on these data"
    ending = "th" if 10 <= looks % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(looks % 10, "th")
    return f"the {looks}{ending} run judged on these data"
