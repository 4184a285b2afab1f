"""Shadow days: the agent decides for running campaigns hour by hour, and nothing that it decides is sent.

The campaigns are the advertiser's own. Their hour rows are read as those of the pilot will be, and feed the controller
that the pilot will use. What it saw is compared with what the market of training shows (`skew.py`) before the first
dollar.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Ints
from gaelp.errors import WaitingForPerson
from gaelp.pilot.controller import Controller
from gaelp.pilot.known_hours import HourFigures
from gaelp.pilot.policy_inputs import inputs_of
from gaelp.pilot.report_arrays import PilotPlaces, hour_figures
from gaelp.pilot.shadow_record import ShadowFolder, ShadowRecord
from gaelp.platforms.platform import HourReport
from gaelp.platforms.running_campaigns import ReadsRunning, RunningReport

__all__ = ["ShadowPlan", "run_shadow_days"]

_COUNTS = ("impressions", "clicks", "conversions", "cost_micros", "value_micros")

WaitUntil = Callable[[datetime], bool]  # False: interrupted


@dataclass(frozen=True, slots=True)
class ShadowPlan:
    """Which campaigns of the account are watched, by name and ad group, from when on and for how many hours."""

    begins: datetime  # midnight of the account
    hours: int
    campaigns: tuple[str, ...]
    targets: tuple[tuple[str, ...], ...]  # of each campaign, in the order of its segments
    segments: int  # S: campaigns with fewer targets leave the last places empty

    @property
    def places(self) -> PilotPlaces:
        """Where each campaign and target is in arrays."""
        names = {name: row for row, name in enumerate(self.campaigns)}
        targets = tuple({target: place for place, target in enumerate(each)} for each in self.targets)
        return PilotPlaces(self.begins, names, targets, (len(names), self.segments))


def run_shadow_days(
    platform: ReadsRunning,
    controller: Controller,
    plan: ShadowPlan,
    folder: ShadowFolder,
    wait_until: WaitUntil,
    on_hour: Callable[[int], None] = lambda _hour: None,
) -> ShadowRecord:
    """Watch the campaigns through all hours of the plan, and read them once more at the end; only reads are made.

    After an interruption it resumes with the hour after the last finished one. Hours that passed meanwhile are missed:
    the bids that are in force now count for them, and nothing is decided.
    """
    places = plan.places
    if (state := folder.state()) is not None:
        controller.load_state(state)
    while controller.hour < plan.hours:
        hour = controller.hour
        if not wait_until(places.start(hour)):
            raise WaitingForPerson(
                f"the shadow days were interrupted before hour {hour} of {plan.hours}: resume the run to continue them"
            )
        report = platform.read_running(plan.campaigns, plan.begins)
        _pass_hour(controller, plan, report, folder, missed=places.hour(report.read_at) > hour)
        on_hour(hour)
    wait_until(places.start(plan.hours))
    last = platform.read_running(plan.campaigns, plan.begins)
    return _record(plan, folder, _figures(plan, last))


def _pass_hour(
    controller: Controller, plan: ShadowPlan, report: RunningReport, folder: ShadowFolder, *, missed: bool
) -> None:
    """One hour; `missed`: it is over, so a decision would have come too late."""
    hour, bids = controller.hour, _bids(plan, report)
    figures = _figures(plan, report)
    controller.report(_until(figures, hour))
    arrays: dict[str, npt.NDArray[Any]] = {"bid_micros": bids}
    if not missed:
        decision = controller.decide()
        arrays |= {
            "inputs": inputs_of(controller.brief, decision),
            "would_bid_micros": decision.bids.bid_micros,
            "rows": decision.rows,
        }
    controller.pass_hour(bids)
    folder.finish_hour(hour, arrays, controller.state())


def _figures(plan: ShadowPlan, report: RunningReport) -> HourFigures:
    return hour_figures(HourReport(report.as_of, report.hours), plan.places, 0)


def _until(figures: HourFigures, hour: int) -> HourFigures:
    """The hours before this one: a missed hour is taken in once its bids are noted."""
    given = {name: getattr(figures, name)[:hour] for name in _COUNTS}
    return HourFigures(figures.first, **given)


def _bids(plan: ShadowPlan, report: RunningReport) -> Ints:
    """Bids in force when the report was read, (N, S); 0 where an ad group has none."""
    places = plan.places
    bids = np.zeros(places.shape, np.int64)
    for (campaign, target), micros in report.bids_micros.items():
        if (place := places.place(campaign, target)) is not None:
            bids[place] = micros
    return bids


def _record(plan: ShadowPlan, folder: ShadowFolder, figures: HourFigures) -> ShadowRecord:
    shape = (plan.hours, *plan.places.shape)
    hours = [folder.hour(hour) for hour in range(plan.hours)]
    decided = np.array(["inputs" in each for each in hours])
    features = next((each["inputs"].shape[-1] for each in hours if "inputs" in each), 0)
    inputs = np.full((*shape, features), np.nan, np.float32)
    would_bid = np.zeros(shape, np.int64)
    for hour, each in enumerate(hours):
        if decided[hour]:
            inputs[hour, each["rows"]] = each["inputs"]
            would_bid[hour, each["rows"]] = each["would_bid_micros"]
    reported = min(len(figures.impressions), plan.hours)
    return ShadowRecord(
        inputs=inputs,
        would_bid_micros=would_bid,
        bid_micros=np.stack([each["bid_micros"] for each in hours]),
        decided=decided,
        reported_hours=reported,
        **{name: _padded(getattr(figures, name)[:reported], plan.hours) for name in _COUNTS},
    )


def _padded(array: npt.NDArray[Any], hours: int) -> npt.NDArray[Any]:
    return np.concatenate([array, np.zeros((hours - len(array), *array.shape[1:]), array.dtype)])
