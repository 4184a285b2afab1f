"""What a report of costs says for each campaign-day, and in words where it makes no sense.

A report is believed as far as it can be: one cost that is none keeps its own campaign-day from being booked, and no
other. Nothing is concluded from what is missing where it may be what was garbled.
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
    """The costs that make sense, by campaign and day; `problems` are those that do not, in words.

    `doubtful` are the campaign-days that a problem is about, without a day where that cannot be told. `nameless` says
    that a cost may belong to any campaign.
    """

    micros: dict[tuple[str, date], Micros] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    doubtful: set[tuple[str, date | None]] = field(default_factory=set)
    nameless: bool = False

    def of(self, campaign: str, day: date) -> Micros | None:
        """What a campaign cost on a day; what is not listed cost nothing, and nothing is the answer if in doubt."""
        if {(campaign, day), (campaign, None)} & self.doubtful:
            return None
        return self.micros.get((campaign, day), None if self.nameless else 0)


def read_report(report: CostReport, days: Collection[date]) -> Costs:
    """Read every cost of a report for these days."""
    costs = Costs()
    for cost in report.costs:
        try:
            _read(costs, (cost.campaign, cost.day, cost.micros), days)
        except BaseException as error:  # whatever an entry is, the others are read
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
    known_day = day if type(day) is date else None  # a datetime is a date to Python, and equals none
    at = (campaign, known_day)
    if known_day is None or known_day not in days:
        wrong = f"{campaign} has a cost on {shown(day)}, which is no day that was asked for"
    elif type(micros) is not int or not 0 <= micros <= MAX_AMOUNT_MICROS:
        wrong = f"{campaign} cost {shown(micros)} on {day}; allowed: whole micros, 0 to {MAX_AMOUNT_MICROS}"
    elif at in costs.doubtful or (campaign, known_day) in costs.micros:
        # The second may revise the first or add to it: either guess may free what was spent.
        wrong = f"{campaign} stands more than once in the costs of {day}"
    else:
        costs.micros[campaign, known_day] = micros
        return
    costs.doubtful.add(at)
    costs.problems.append(wrong[:_SHOWN_CHARACTERS])
