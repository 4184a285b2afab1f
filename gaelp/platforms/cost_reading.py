"""Read a cost report: the cost of each campaign-day, and a description of each invalid entry.

An invalid cost keeps only its own campaign-day from being booked. A missing entry counts as zero only if no invalid
entry could have been that one.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date

from gaelp.budget.ledger.schema import MAX_AMOUNT_MICROS
from gaelp.checks.raised import ends_the_program, in_words, shown
from gaelp.money import Micros
from gaelp.platforms.platform import CostReport

__all__ = ["Costs", "read_report"]

_SHOWN_CHARACTERS = 300


@dataclass(slots=True)
class Costs:
    """Valid costs by campaign and day; `problems` describes the invalid ones.

    `doubtful` are the campaign-days of the problems, with None for an unknown day. `nameless` says that an invalid
    cost may belong to any campaign.
    """

    micros: dict[tuple[str, date], Micros] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    doubtful: set[tuple[str, date | None]] = field(default_factory=set)
    nameless: bool = False

    def of(self, campaign: str, day: date) -> Micros | None:
        """What a campaign cost on a day: 0 if it is not listed, None if in doubt."""
        if {(campaign, day), (campaign, None)} & self.doubtful:
            return None
        return self.micros.get((campaign, day), None if self.nameless else 0)


def read_report(report: CostReport, days: Collection[date]) -> Costs:
    """Read every cost of a report for these days."""
    costs = Costs()
    for cost in report.costs:
        try:
            _read(costs, (cost.campaign, cost.day, cost.micros), days)
        except BaseException as error:  # one bad entry must not hide the others
            if ends_the_program(error):
                raise
            costs.nameless = True
            costs.problems.append(f"an entry cannot be read ({in_words(error)}): {shown(cost)}"[:_SHOWN_CHARACTERS])
    return costs


def _read(costs: Costs, entry: tuple[object, object, object], days: Collection[date]) -> None:
    campaign, day, micros = entry
    if type(campaign) is not str or not campaign:
        costs.nameless = True
        costs.problems.append(f"a cost without a campaign: {shown(entry)}"[:_SHOWN_CHARACTERS])
        return
    known_day = day if type(day) is date else None  # a datetime is a date too, but never equals one
    at = (campaign, known_day)
    if known_day is None or known_day not in days:
        wrong = f"{campaign} has a cost on {shown(day)}, a day that was not requested"
    elif type(micros) is not int or not 0 <= micros <= MAX_AMOUNT_MICROS:
        wrong = f"{campaign} cost {shown(micros)} on {day}; allowed: whole micros, 0 to {MAX_AMOUNT_MICROS}"
    elif at in costs.doubtful or (campaign, known_day) in costs.micros:
        # The second may revise the first or add to it: a wrong guess could free money that was spent.
        wrong = f"{campaign} is listed more than once in the costs of {day}"
    else:
        costs.micros[campaign, known_day] = micros
        return
    costs.doubtful.add(at)
    costs.problems.append(wrong[:_SHOWN_CHARACTERS])
