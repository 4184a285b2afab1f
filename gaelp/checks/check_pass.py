"""Run many checks in one pass: each failure is recorded and reported, and keeps no other check from running."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

from gaelp.checks.raised import ends_the_program, in_words

__all__ = ["CheckPass"]

# Reports something to people; returns what went wrong with that, or None.
Report = Callable[[], str | None]


class CheckPass:
    """The failures of one pass, and what people still have to hear of it.

    Reports wait until `report_all`: an alert that hangs must not keep a campaign running that has to be paused.
    """

    caught: ClassVar[type[BaseException]] = Exception  # what a part may raise without ending the pass

    def __init__(self, report_failure: Callable[[str, str], str | None], *, failure_text: str) -> None:
        """`report_failure` is given part and text; the text of a failed part is made with {part} and {problem}."""
        self._report_failure, self._failure_text = report_failure, failure_text
        self._reports: list[Report] = []
        self.failures: list[str] = []

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Do one part of the pass; what it raises is recorded, unless it ends the program."""
        try:
            yield
        except self.caught as error:
            if ends_the_program(error):
                raise
            self.fail(self._failure_text.format(part=name, problem=in_words(error)), part=name)

    def fail(self, what: str, *, part: str = "") -> None:
        """Record what could not be done, and report it later."""
        self.failures.append(what)
        self.report_later(partial(self._report_failure, part, what))

    def report_later(self, report: Report, *, first: bool = False) -> None:
        """Put a report into the queue, at its end or at its beginning."""
        self._reports.insert(0 if first else len(self._reports), report)

    def report_all(self) -> None:
        """Make every report that waits; one that fails is a failure of the pass and holds up no other."""
        while self._reports:
            if problem := _problem_with(self._reports.pop(0)):
                self.failures.append(problem)


def _problem_with(report: Report) -> str | None:
    try:
        return report()
    except Exception as error:  # noqa: BLE001 - the other reports must still be made, and this is one more failure
        return f"a report reached nobody ({in_words(error)})"
