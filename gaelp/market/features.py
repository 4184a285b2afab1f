"""The observation vector of `spaces`, computed for N campaigns at once."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gaelp.arrays import Floats, Floats32, Ints, Ints32
from gaelp.config.objective import is_value
from gaelp.market.campaign_rows import rows_by_value, take
from gaelp.market.compiled import compiled
from gaelp.market.objective import slack_log, target_return
from gaelp.market.spaces import FEATURE_LIMIT, SEGMENT_FEATURES, global_size, observation_size
from gaelp.market.view import Brief, Observation

__all__ = ["FeatureMaker"]

_CLICK_PRIOR, _CONVERSION_PRIOR = 4.0, 3.0  # strength of the market's averages, in clicks and conversions
_SMALLEST_SHARE = 1e-3
_SMALLEST_PRESENCE = 0.02
_WEEK_HOURS = 168


class FeatureMaker:
    """Turns observations of campaigns into vectors; built once per brief.

    A campaign's vector is the same to the bit whichever other campaigns share the call.
    """

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        self._rows = np.arange(brief.campaigns)
        self._hours = brief.hours.astype(np.float32)
        self._flight = _flights(brief)
        self._activity_log = np.log(brief.activity + 1e-3)
        self._price_mean_log = brief.price_forecast_log.mean(axis=1, keepdims=True)
        self._prior_log = np.log(brief.click_rate * brief.conversion_rate * brief.conversion_value_micros)[:, None]
        volume = brief.volume_forecast
        self._volume = volume.sum(axis=1)
        self._volume_share_log = np.log(volume / volume.mean(axis=1, keepdims=True))
        self._traits = brief.persona_traits[brief.persona].transpose(2, 0, 1)
        self._budget = brief.budget_micros.astype(np.float32)
        self._target = None if is_value(brief.objective) else _target(brief)

    def __call__(self, obs: Observation) -> Floats32:
        """Vectors of shape (N, size), a new array each time."""
        hour = np.minimum(obs.hour, self._brief.hours - 1)
        whole = np.stack(self._globals(obs, hour), axis=1, dtype=np.float32, casting="same_kind")
        vectors = np.empty(
            (self._brief.campaigns, observation_size(self._brief.segments, self._brief.objective)), np.float32
        )
        _interleave(whole, self._segments(obs, hour), np.float32(FEATURE_LIMIT), vectors)
        return vectors

    def by_segment(self, obs: Observation, extra: Floats32) -> Floats32:
        """One vector a segment, shape (N, S, features): the globals, the segment's own features, then the extra ones.

        `extra` has shape (extra features, N, S).
        """
        hour = np.minimum(obs.hour, self._brief.hours - 1)
        whole = np.stack(self._globals(obs, hour), axis=1, dtype=np.float32, casting="same_kind")
        parts = np.concatenate([self._segments(obs, hour), extra.astype(np.float32, copy=False)])
        rows = np.empty((*parts.shape[1:], whole.shape[1] + len(parts)), np.float32)
        _by_segment(whole, parts, np.float32(FEATURE_LIMIT), rows)
        return rows

    def _globals(self, obs: Observation, hour: Ints) -> list[npt.NDArray[np.floating]]:
        """One array of shape (N,) for each entry of GLOBAL_FEATURES and OBJECTIVE_FEATURES, in their order."""
        brief, flight = self._brief, self._flight
        reported = hour - 1 - brief.report_lag_hours
        now, before = (self._rows, hour), (self._rows, np.maximum(reported, 0))
        day = 2 * np.pi * brief.hour_of_day(hour) / brief.hours_per_day
        week = 2 * np.pi * ((brief.start_hour_of_week + hour) % _WEEK_HOURS) / _WEEK_HOURS
        share = obs.left_micros / self._budget
        started, planned = reported >= 0, flight.plan[before]
        sums = _sums(obs.cost_micros, obs.total_cost_micros, obs.opportunities, obs.total_clicks, obs.total_conversions)
        cost, total_cost, opportunities, clicks, bought = sums.T
        # Not by a matrix product, which rounds by a campaign's place in the batch.
        dearer = ((obs.price_level_log - brief.price_forecast_log) * np.float32(1 / brief.segments)).sum(axis=1)
        spend = cost / np.maximum(planned * self._budget, 1) - 1
        expected = self._volume * planned * self._hours
        value = brief.conversion_value_micros
        features = [
            obs.hour / brief.hours,
            np.sin(day),
            np.cos(day),
            np.sin(2 * day),
            np.cos(2 * day),
            np.sin(week),
            np.cos(week),
            share,
            obs.day_left_micros / brief.daily_cap_micros,
            np.log(np.maximum(share, _SMALLEST_SHARE)) - flight.ahead_log[now],
            np.log(brief.budget_share) + 2,
            np.minimum(spend, 3) * started,
            obs.in_market,
            obs.pace,
            np.log(np.maximum(flight.plan[now] * self._hours, _SMALLEST_SHARE)),
            np.log((opportunities + 1) / (expected + 1)) * started,
            dearer,
            0.3 * np.log1p(clicks),
            0.5 * np.log1p(bought),
            0.3 * np.log1p(obs.maturing_clicks.sum(axis=1)),
            flight.rhythm_now[now],
            flight.rhythm_ahead[now],
            np.log((bought + 1) * value / (total_cost + value)),
        ]
        if self._target is not None:
            expected_value = (bought + brief.conversion_rate * obs.maturing_clicks.sum(axis=1)) * value
            features.append(slack_log(expected_value, total_cost, self._target, value.astype(np.float64)))
            features.append(self._prior_log[:, 0] - self._price_mean_log[:, 0] - np.log(self._target))
        assert len(features) == global_size(brief.objective)  # noqa: S101 - each feature has a description
        return features

    def _segments(self, obs: Observation, hour: Ints) -> Floats32:
        """The entries of SEGMENT_FEATURES in their order, shape (features, N, S)."""
        brief, level = self._brief, obs.price_level_log
        now = ((brief.start_hour_of_week + hour) % _WEEK_HOURS)[:, None]
        won, clicks, bought = (
            total.astype(np.float32) for total in (obs.total_impressions, obs.total_clicks, obs.total_conversions)
        )
        entered = obs.opportunities * np.maximum(obs.in_market * obs.pace, _SMALLEST_PRESENCE)[:, None]
        reported = now - 1 - brief.report_lag_hours
        expected = brief.volume_forecast * brief.activity[brief.persona, reported]
        click_log, conversion_log, value_log, log_sd = self._values(obs, won, clicks, bought)
        features = (
            click_log,
            conversion_log,
            value_log,
            log_sd,
            level - self._price_mean_log,
            level - brief.price_forecast_log,
            obs.price_signal_log - level,
            obs.bid_log - level,
            np.minimum(obs.impressions / np.maximum(entered, 1), 1),
            self._volume_share_log,
            np.log((obs.opportunities + 1) / (expected + 1), dtype=np.float32)
            * (hour > brief.report_lag_hours)[:, None],
            self._activity_log[brief.persona, now],
            np.float32(0.2) * np.log1p(won),
            np.float32(0.3) * np.log1p(clicks),
            np.float32(0.5) * np.log1p(bought),
            np.float32(0.3) * np.log1p(obs.maturing_clicks),
            obs.exposure,
            obs.creative / np.float32(brief.creatives),
            *self._rhythm(hour),
            *self._traits[2:],
        )
        parts = np.empty((len(SEGMENT_FEATURES), brief.campaigns, brief.segments), np.float32)
        for part, feature in zip(parts, features, strict=True):
            part[:] = feature
        return parts

    def _rhythm(self, hour: Ints) -> tuple[Floats32, Floats32]:
        """Where the coming hour lies in the day of each segment's persona, whose peak is at an angle of 0."""
        angle = 2 * np.pi * self._brief.hour_of_day(hour) / self._brief.hours_per_day
        sine, cosine = (wave.astype(np.float32)[:, None] for wave in (np.sin(angle), np.cos(angle)))
        peak_sine, peak_cosine = self._traits[0], self._traits[1]
        return cosine * peak_cosine + sine * peak_sine, sine * peak_cosine - cosine * peak_sine

    def _values(
        self, obs: Observation, won: Floats32, clicks: Floats32, bought: Floats32
    ) -> tuple[Floats32, Floats32, Floats32, Floats32]:
        """Shrunken click and conversion rates, value, and its uncertainty, all in logs."""
        brief = self._brief
        ripe = np.maximum(clicks - obs.maturing_clicks, 0)
        click_events, conversion_events = clicks + np.float32(_CLICK_PRIOR), bought + np.float32(_CONVERSION_PRIOR)
        click = np.log(click_events / (won * np.float32(brief.click_rate) + np.float32(_CLICK_PRIOR)))
        conversion = np.log(
            conversion_events / (ripe * np.float32(brief.conversion_rate) + np.float32(_CONVERSION_PRIOR))
        )
        if obs.known_value_log is not None:
            return click, conversion, obs.known_value_log - self._prior_log, np.zeros_like(click)
        log_sd = np.sqrt((click_events + conversion_events) / (click_events * conversion_events))
        return click, conversion, click + conversion, log_sd


def _target(brief: Brief) -> Floats:
    """The return that slack is measured from, (N,): 1 for profit."""
    if not brief.objective.has_target:
        return np.ones(brief.campaigns)
    return target_return(brief.objective, brief.conversion_value_micros)


class _Flights(NamedTuple):
    """What is forecast for each hour, (N, longest flight); zeros after a flight's end."""

    plan: Floats32  # share of the flight's volume in the hour
    ahead_log: Floats32  # log of the share still to come
    rhythm_now: Floats32  # mean over the volume of how near each persona is to its peak
    rhythm_ahead: Floats32  # the same over all that is still to come


def _flights(brief: Brief) -> _Flights:
    groups = list(rows_by_value(brief.hours))
    if len(groups) == 1:
        return _flights_of_length(brief, groups[0][0])
    flights = _Flights(*np.zeros((len(_Flights._fields), brief.campaigns, int(brief.hours.max())), np.float32))
    for hours, rows in groups:
        for table, part in zip(flights, _flights_of_length(take(brief, rows), hours), strict=True):
            table[rows, :hours] = part
    return flights


def _flights_of_length(brief: Brief, hours: int) -> _Flights:
    volume, near = _by_hour(brief, hours)
    plan = volume / volume.sum(axis=1, keepdims=True)
    ahead_log = np.log(np.maximum(_from_here(plan), _SMALLEST_SHARE))
    tables = (plan, ahead_log, near / volume, _from_here(near) / _from_here(volume))
    return _Flights(*(table.astype(np.float32) for table in tables))


def _by_hour(brief: Brief, hours: int) -> tuple[Floats, Floats]:
    """Forecast volume of each hour of a flight, and that volume times how near each persona is to its peak, (N, T)."""
    index = (brief.start_hour_of_week[:, None] + np.arange(hours)) % _WEEK_HOURS
    angle = 2 * np.pi * np.arange(brief.hours_per_day) / brief.hours_per_day
    circle = np.stack([np.sin(angle), np.cos(angle)])
    near_peak = (brief.persona_traits[:, :2] @ circle).astype(np.float32)  # (P, hours_per_day)
    hour_of_day = brief.hour_of_day(np.arange(hours)[:, None]).T  # (N, T)
    volume, near = np.zeros((2, brief.campaigns, hours))
    for s in range(brief.segments):
        persona = brief.persona[:, s]
        weight = brief.volume_forecast[:, s, None] * brief.activity[persona[:, None], index]
        volume += weight
        near += weight * near_peak[persona[:, None], hour_of_day]
    return volume, near


def _from_here(hourly: Floats) -> Floats:
    """Sums over each hour and all that follow it, (N, T)."""
    return np.asarray(hourly[:, ::-1].cumsum(axis=1)[:, ::-1])


@compiled
def _interleave(whole: Floats32, parts: Floats32, limit: np.float32, out: Floats32) -> None:
    """Lay one campaign's features after another, each clipped to the limit."""
    features, campaigns, segments = parts.shape
    for n in range(campaigns):
        start = whole.shape[1]
        for i in range(start):
            out[n, i] = min(max(whole[n, i], -limit), limit)
        for i in range(features):
            for s in range(segments):
                out[n, start + s] = min(max(parts[i, n, s], -limit), limit)
            start += segments


@compiled
def _by_segment(whole: Floats32, parts: Floats32, limit: np.float32, out: Floats32) -> None:
    """Give every segment the campaign's features and its own, each clipped to the limit."""
    features, campaigns, segments = parts.shape
    start = whole.shape[1]
    for n in range(campaigns):
        for s in range(segments):
            for i in range(start):
                out[n, s, i] = min(max(whole[n, i], -limit), limit)
            for i in range(features):
                out[n, s, start + i] = min(max(parts[i, n, s], -limit), limit)


@compiled
def _sums(cost: Ints, total_cost: Ints, opportunities: Ints32, clicks: Ints32, conversions: Ints32) -> Floats:
    """Sums over the segments, shape (N, 5)."""
    campaigns, segments = cost.shape
    out = np.zeros((campaigns, 5))
    for n in range(campaigns):
        for s in range(segments):
            out[n, 0] += cost[n, s]
            out[n, 1] += total_cost[n, s]
            out[n, 2] += opportunities[n, s]
            out[n, 3] += clicks[n, s]
            out[n, 4] += conversions[n, s]
    return out
