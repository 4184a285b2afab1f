"""A job on the rows that a phase stored: what it is given, and who runs it.

The jobs themselves are imported when they run: whoever only lists phases starts without them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from gaelp.config.settings import Settings
from gaelp.phases.run_folder import PhaseFolder

if TYPE_CHECKING:
    from gaelp.history.look_book import GateTicket

__all__ = ["DataJob", "JobName", "RunJob", "run_directly"]

JobName = Literal["data-quality", "budget-safety", "episode-metrics"]


@dataclass(frozen=True, slots=True)
class DataJob:
    """What a job is given: the attempt whose rows it reads, the time of the evidence, and who follows its progress."""

    settings: Settings
    folder: PhaseFolder
    as_of: datetime
    sources: tuple[str, ...] = ()  # whose rows are checked; empty: what the attempt itself stored
    ticket: "GateTicket | None" = None  # of the look at a sealed window whose rows are checked too
    on_progress: Callable[[int, int], None] = lambda _done, _total: None  # parts done, all parts


RunJob = Callable[[JobName, DataJob], Mapping[str, Any]]  # returns the job's report as JSON values


def run_directly(name: JobName, job: DataJob) -> Mapping[str, Any]:
    """Run a job in this process, or in the process that a Beam job starts."""
    from gaelp.phases.data_jobs import JOBS  # noqa: PLC0415 - see above

    return JOBS[name](job)
