"""The result of an attempt at a phase: one form for all phases, small enough to pass on and show anywhere."""

from pathlib import Path

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from gaelp.config.base import Frozen
from gaelp.config.names import Name
from gaelp.config.places import shown
from gaelp.config.write import write_models
from gaelp.errors import DataError
from gaelp.gates import Verdict
from gaelp.phases.run_folder import PhaseFolder, RunFolder
from gaelp.types import Phase, RunId

__all__ = ["PhaseResult", "ResultTable", "read_result", "write_result"]


class ResultTable(Frozen):
    """Rows to show, with optional text above and below."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    above: str = ""
    below: str = ""


class PhaseResult(Frozen):
    """The verdict on one attempt, the model that was judged, and how to show both."""

    phase: Phase
    run_id: Name
    attempt: PositiveInt
    extension: NonNegativeInt = 0  # how often the attempt was extended for lack of data
    agent: str
    learned: bool  # False: the agent is a tuned rule
    model_hash: str = Field(pattern="^[0-9a-f]{64}$")
    model: str = Field(min_length=1)  # the hashed file, relative to the attempt's folder
    verdict: Verdict  # of the phase's gate; a person's decision comes after it
    seconds: NonNegativeFloat
    judged_on: str = Field(min_length=1)  # names the data: equal for runs judged on the same data
    text: str = ""  # the meaning of the result; each line is a paragraph
    tables: tuple[ResultTable, ...] = ()

    def folder(self, home: Path) -> PhaseFolder:
        """Where the files of the attempt are."""
        return RunFolder(home, RunId(self.run_id)).phase(self.phase, self.attempt)

    def file(self, home: Path) -> Path:
        """Where this result is stored."""
        return self.folder(home).result(self.extension)

    def model_file(self, home: Path) -> Path:
        """Where the model is."""
        return self.folder(home).path / self.model

    @property
    def metrics(self) -> dict[str, float]:
        """The figures that the gate read."""
        return self.verdict.evidence.metrics


def write_result(home: Path, result: PhaseResult) -> Path:
    """Store a result atomically; return its file."""
    path = result.file(home)
    write_models({path: result})
    return path


def read_result(path: Path) -> PhaseResult:
    """Read a result; raise DataError if the file is damaged or from another release."""
    try:
        return PhaseResult.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as problem:  # pydantic's own error is a ValueError
        first = str(problem).splitlines()[0]
        raise DataError(
            f"{shown(path)} is no result that this release reads ({first}): restore it from a copy, or begin another"
            " run"
        ) from problem
