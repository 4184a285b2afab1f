"""What an observer remembers of campaigns: arrays by name, one row a campaign, like the state of a policy."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Floats32, Ints, Ints8, Ints32
from gaelp.errors import BadInput
from gaelp.market.from_reports.report_model import ObserverSpec, ReportModel
from gaelp.market.view import Brief
from gaelp.types import PolicyState

__all__ = ["ObserverState", "launch_state", "state_arrays", "state_from_arrays"]


@dataclass(slots=True)
class ObserverState:
    """All that changes while reports come in; H remembered hours, by hour since launch modulo H."""

    hour: Ints  # (N,) hours since launch
    reported: Ints  # (N,) hours of them that were reported
    bid_log: Floats32  # (N, H, S) own bids, log micros an impression, as the next ones
    pace: Floats32  # (N, H)
    creative: Ints8  # (N, H, S)
    impressions: Ints32  # (N, H, S) as reported last, as the next ones
    clicks: Ints32  # (N, H, S)
    conversions: Floats32  # (N, H, S)
    cost_micros: Ints  # (N, H, S)
    value_micros: Ints  # (N, H, S)
    opportunities: Ints32  # (N, S) of the newest reported hour, as the next ones
    opportunities_error: Floats32  # (N, S) relative
    new_conversions: Floats  # (N, S) reported since the last bid
    in_market: Floats32  # (N,)
    spent_micros: Ints  # (N,) of this flight's budget
    carried_share: Floats  # (N,) of what earlier flights brought that counts in the totals
    total_impressions: Floats  # (N, S) as the next ones
    total_clicks: Floats
    total_conversions: Floats
    total_cost_micros: Floats
    total_value_micros: Floats
    maturing: Floats32  # (N, S)
    maturing_parts: Floats32  # (N, K, S); K is 0 where the delay has one part
    exposure: Floats32  # (N, S)
    audience: Floats32  # (N, S)
    price_level_log: Floats32  # (N, S) for the hour after the newest reported one
    price_signal_log: Floats32  # (N, S)
    creative_impressions: Ints32  # (N, S, C)
    creative_clicks: Ints32  # (N, S, C)
    known_volume: Floats  # (N, S) possible impressions of the hours in which they were known
    known_forecast: Floats  # (N, S) what the forecast had said of these hours


def launch_state(brief: Brief, model: ReportModel, spec: ObserverSpec, audience: Floats32 | None) -> ObserverState:
    """The state before launch, as in the market; without an audience, a day's forecast volume."""
    campaigns, segments = brief.persona.shape
    pair, remembered = (campaigns, segments), (campaigns, spec.revised_hours, segments)
    parts = len(model.delay_share) if len(model.delay_share) > 1 else 0
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("hour", "reported", "in_market", "spent_micros", "carried_share"), (campaigns,)),
        **dict.fromkeys(("bid_log", "creative", "impressions", "clicks"), remembered),
        **dict.fromkeys(("conversions", "cost_micros", "value_micros"), remembered),
        **dict.fromkeys(("creative_impressions", "creative_clicks"), (*pair, brief.creatives)),
        "pace": (campaigns, spec.revised_hours),
        "maturing_parts": (campaigns, parts, segments),
    }
    kinds = {Ints: np.int64, Ints32: np.int32, Ints8: np.int8, Floats32: np.float32, Floats: np.float64}
    hints = ObserverState.__annotations__
    arrays: dict[str, Any] = {name: np.zeros(shapes.get(name, pair), kinds[hint]) for name, hint in hints.items()}
    state = ObserverState(**arrays)
    state.in_market[:] = 1.0
    state.audience[:] = brief.volume_forecast * brief.hours_per_day if audience is None else audience
    state.price_level_log[:] = brief.price_forecast_log + brief.price_profile_log[brief.hour_of_day(0)][:, None]
    state.price_signal_log[:] = state.price_level_log
    return state


def state_arrays(state: ObserverState) -> dict[str, npt.NDArray[Any]]:
    """Copies of the arrays by name."""
    return {field.name: getattr(state, field.name).copy() for field in fields(state)}


def state_from_arrays(launched: ObserverState, arrays: PolicyState) -> ObserverState:
    """The state that `state_arrays` returned, for campaigns whose state at launch has the same form."""
    for field in fields(launched):
        wanted, given = getattr(launched, field.name), arrays.get(field.name)
        if given is None or (given.dtype, given.shape) != (wanted.dtype, wanted.shape):
            form = "missing" if given is None else f"{given.dtype} of shape {given.shape}"
            raise BadInput(
                f"observer state {field.name} is {form}, the brief needs {wanted.dtype} of shape {wanted.shape}:"
                " load the rows of the campaigns that are in the brief, with the same settings"
            )
    return ObserverState(**{field.name: arrays[field.name].copy() for field in fields(launched)})
