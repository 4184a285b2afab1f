"""Learn on from a release: fit the market to its checked reports again, and train the agent further in it.

The result is a challenger at most: a candidate for gate 1, like the agent of any other run. Nothing here promotes
it, and the agent that is being released is not touched.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from gaelp.errors import BadInput
from gaelp.market.build import build_market
from gaelp.market.calibration.report import Calibration
from gaelp.market.calibration.report_fit import calibrate_reports
from gaelp.market.calibration.report_frame import hour_reports
from gaelp.market.market import Market
from gaelp.release.live_experience import LiveExperience
from gaelp.release.transfer import SourceAgent
from gaelp.training.assemble import ground_of
from gaelp.training.fine_tuning import FineTuned, TrainingPlace, fine_tune
from gaelp.training.reports import TrainingReport

__all__ = ["Challenger", "learn_on"]


@dataclass(frozen=True, slots=True)
class Challenger:
    """A candidate for gate 1, and the market that it learned in."""

    calibration: Calibration
    market: Market
    trained: FineTuned

    @property
    def learned(self) -> bool:
        """Whether it is better than the released agent in the market as it is now; else there is nothing to judge."""
        return self.trained.checkpoint is not None


def learn_on(
    agent: SourceAgent,
    experience: LiveExperience,
    place: TrainingPlace,
    *,
    rounds: int,
    as_of: datetime,
    on_report: Callable[[TrainingReport], None] = lambda _: None,
) -> Challenger:
    """Return what the agent becomes in a market fitted to checked live rows, as they were known at a moment."""
    if agent.learned is None:
        raise BadInput(
            f"{agent.policy.name} is a tuned rule and learns nothing: tune it for the market as it is now with `gaelp"
            " market tune`, or train an agent"
        )
    reports = hour_reports(experience.tables, source="a release", as_of=as_of)
    calibration = calibrate_reports(reports, name=f"{agent.market.spec.name[:55]}-live", base=agent.market.spec)
    market = build_market(calibration.spec, agent.market.personas, agent.market.objective)
    recipe = agent.recipe.with_rounds(rounds)
    ground = ground_of(market, agent.tuned, recipe.rule)
    return Challenger(calibration, market, fine_tune(recipe, ground, agent.learned, place, on_report=on_report))
