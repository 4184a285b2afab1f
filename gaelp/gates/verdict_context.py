"""What a person wants to know beside a verdict: what was judged, which bidders it was compared with, how it learned."""

from gaelp.config.base import Frozen

__all__ = [
    "BIDDERS_PLAYED",
    "BiddersTable",
    "ComparedBidder",
    "CurvePoint",
    "LearningCurve",
    "Picture",
    "VerdictContext",
]


class ComparedBidder(Frozen):
    """A bidder and its mean reward, or what else bidders are compared by, with the 95% interval where there is one."""

    name: str
    meaning: str  # one sentence
    reward: float
    lower_95: float | None
    upper_95: float | None
    money: tuple[tuple[str, str], ...] = ()  # a label and its text, the same labels for every bidder


class BiddersTable(Frozen):
    """How the table of bidders is to be read."""

    title: str
    measure: str  # the name of the column
    text: str  # what it measures


BIDDERS_PLAYED = BiddersTable(
    title="Bidders that played the same episodes",
    measure="reward",
    text="Reward: mean share of the optimum in hindsight, with its 95% interval, best first.",
)


class Picture(Frozen):
    """A picture of the page, with what to look for in it."""

    title: str
    text: str
    png: bytes


class CurvePoint(Frozen):
    """One validation: a mean and its 95% interval."""

    round: int
    value: float
    lower_95: float
    upper_95: float


class LearningCurve(Frozen):
    """The validations of a training, in the order of their rounds."""

    measure: str  # what the points measure, with its unit
    zero: str | None = None  # what a value of zero means
    points: tuple[CurvePoint, ...]
    chosen_round: int | None = None  # of the checkpoint that was judged


class VerdictContext(Frozen):
    """Read from the records of a run, for display only: no rule looks at it."""

    facts: tuple[tuple[str, str], ...] = ()  # a label and its text
    stored_data: tuple[tuple[str, str], ...] = ()  # what the checks of stored rows say, with failing rows
    progress: str = ""  # whether the agent is better than what it started from
    bidders: tuple[ComparedBidder, ...] = ()
    bidders_table: BiddersTable = BIDDERS_PLAYED
    pictures: tuple[Picture, ...] = ()
    curve: LearningCurve | None = None

    def with_fact(self, label: str, text: str) -> "VerdictContext":
        """The same context with one more fact."""
        return self.model_copy(update={"facts": (*self.facts, (label, text))})
