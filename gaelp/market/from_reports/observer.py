"""From reports to observations: rebuilds what the market shows a policy, for campaigns of any age.

Each hour, `bid` notes what the campaigns do in the coming hour, `report` takes in what the platform says, and `observe`
returns the market's own `Observation`. Where an hour's volume is known, every number is computed as in the market, by
the same functions. Reports cannot say some things that the market knows:

| field                         | in the market                    | from reports                                      |
|-------------------------------|----------------------------------|---------------------------------------------------|
| opportunities                 | counted                          | the share, or the forecast, with a relative error |
| price levels                  | read off every hour's win rate   | where the volume is known; else as forecast       |
| in_market of an hour in which | share of the hour before it did  | as given, or impressions over those expected at   |
| the money ran out             |                                  | the price level of the hour before                |
| exposure                      | by the audience's true size      | by its forecast size                              |
| maturing and creative clicks  | valid ones only                  | reported ones, corrected once they are revised    |
| known_value_log               | where values are known           | never                                             |

A change to an earlier hour corrects totals, budgets, open clicks and exposure; price levels read from it are kept.
"""

import numpy as np

from gaelp.arrays import Bools, Floats, Floats32, Ints, Ints32
from gaelp.errors import DataError
from gaelp.market.from_reports.hour_update import Moving, PassingHour, bid_logs, expected_wins, pass_hour
from gaelp.market.from_reports.observer_state import launch_state, state_arrays, state_from_arrays
from gaelp.market.from_reports.opportunities import SHARE_FLOOR, forecast_opportunities, opportunities_from_share
from gaelp.market.from_reports.report_model import ObserverSpec, ReportModel
from gaelp.market.from_reports.reported_hours import LateChanges, ReportedHours
from gaelp.market.view import Action, Brief, Observation
from gaelp.types import PolicyState

__all__ = ["Observer"]

_WEEK_HOURS = 168
_COUNTS = ("impressions", "clicks", "conversions", "cost_micros", "value_micros")
_CARRIED = (*(f"total_{name}" for name in _COUNTS), "maturing", "maturing_parts", "exposure")


class Observer:
    """Observations of N campaigns from what was reported of them."""

    def __init__(
        self,
        brief: Brief,
        model: ReportModel,
        spec: ObserverSpec | None = None,
        *,
        audience: Floats32 | None = None,
    ) -> None:
        """Campaigns before launch; `audience` is how many people each segment can reach on a day, (N, S)."""
        self._model, self._spec = model, spec or ObserverSpec()
        self._begin(brief, audience)

    def _begin(self, brief: Brief, audience: Floats32 | None = None) -> None:
        self.brief = brief
        self._everyone = np.arange(brief.campaigns)
        self._kept = _kept(brief.delay_mean_hours, self._model.delay_length)
        self._state = launch_state(brief, self._model, self._spec, audience)

    def state(self) -> PolicyState:
        """Everything that was remembered, copied; one row a campaign."""
        return state_arrays(self._state)

    def load_state(self, brief: Brief, state: PolicyState) -> None:
        """Resume campaigns: row n of the state belongs to campaign n of the brief."""
        self._begin(brief)
        self._state = state_from_arrays(self._state, state)

    def next_flight(self, brief: Brief, carried_share: float = 0.0) -> "Observer":
        """An observer of the same campaigns before their next flight.

        `carried_share` of the clicks, conversions and costs so far counts as if the new flight had brought it.
        """
        following = Observer(brief, self._model, self._spec, audience=self._state.audience)
        following._state.carried_share[:] = carried_share
        following._state.known_volume[:] = self._state.known_volume
        following._state.known_forecast[:] = self._state.known_forecast
        for name in _CARRIED:
            getattr(following._state, name)[:] = carried_share * getattr(self._state, name)
        return following

    def bid(self, action: Action | Floats, rows: Ints | None = None) -> None:
        """Note the action of the coming hour, which then begins; an array is bids for an impression, log micros.

        `rows` are the campaigns that bid; without them, all do. For the others no hour begins.
        """
        state, who = self._state, self._everyone if rows is None else rows
        place = (who, state.hour[who] % self._spec.revised_hours)
        if isinstance(action, Action):
            state.bid_log[place] = bid_logs(action.bid_micros.astype(np.float64))[who]
            state.pace[place] = 1.0 if action.pace is None else np.clip(action.pace, 0, 1)[who]
            before = (who, (state.hour[who] - 1) % self._spec.revised_hours)
            state.creative[place] = state.creative[before] if action.creative is None else action.creative[who]
        else:
            state.bid_log[place], state.pace[place], state.creative[place] = np.maximum(action[who], 0.0), 1.0, 0
        state.hour[who] += 1
        state.new_conversions[who] = 0.0

    def report(self, rows: ReportedHours) -> None:
        """Take in one hour of each campaign that has a row; hours come in their order, a known hour is revised."""
        state = self._state
        self._check_hours(rows.hour)
        if (revised := (rows.hour >= 0) & (rows.hour < state.reported)).any():
            self.revise(self._changes(rows, revised))
        new = np.flatnonzero(rows.hour == state.reported)
        if len(new):
            self._take_in(rows, new)

    def _check_hours(self, hour: Ints) -> None:
        state, remembered = self._state, self._spec.revised_hours
        if hour.shape != state.hour.shape:
            raise DataError(
                f"rows of {len(hour)} campaigns, the brief has {len(state.hour)}: -1 is an hour without row"
            )
        wrong = (hour > state.reported) | (hour >= state.hour) | ((hour >= 0) & (hour < state.hour - remembered))
        for n in np.flatnonzero(wrong & (hour >= 0))[:1]:
            raise DataError(
                f"campaign {n}: hour {hour[n]} reported, {state.hour[n]} hours have begun and {state.reported[n]} are"
                f" reported. Allowed: the next one, or one of the last {remembered} (revised_hours). Report empty hours"
                " with zeros, and bid before each hour"
            )

    def _changes(self, rows: ReportedHours, revised: Bools) -> LateChanges:
        """What rows change of hours that were reported before."""
        place = (np.flatnonzero(revised), rows.hour[revised] % self._spec.revised_hours)
        given = {name: figures for name in _COUNTS if (figures := getattr(rows, name)) is not None}
        more = {name: figures[revised] - getattr(self._state, name)[place] for name, figures in given.items()}
        more.setdefault("value_micros", np.zeros_like(more["cost_micros"]))
        campaign, segment = np.nonzero(np.any([change != 0 for change in more.values()], axis=0))
        changes = {name: change[campaign, segment] for name, change in more.items()}
        return LateChanges(place[0][campaign], segment, rows.hour[revised][campaign], **changes)

    def _values(self, rows: ReportedHours) -> Ints:
        return np.zeros(rows.clicks.shape, np.int64) if rows.value_micros is None else rows.value_micros

    def revise(self, changes: LateChanges) -> None:
        """Correct hours that were reported before; those before this flight count as far as they were carried over."""
        state, remembered = self._state, self._spec.revised_hours
        if ((changes.hour >= state.reported[changes.campaign]) & (changes.hour >= 0)).any():
            raise DataError("a change to an hour that was not reported yet: report the hour first, with the change")
        inside = changes.hour >= 0
        share = np.where(inside, 1.0, state.carried_share[changes.campaign])
        pair = (changes.campaign, changes.segment)
        for name in _COUNTS:
            np.add.at(getattr(state, f"total_{name}"), pair, share * getattr(changes, name))
        np.add.at(state.new_conversions, pair, share * changes.conversions)
        age = state.reported[changes.campaign] - changes.hour
        self._correct_fading(changes, share, age)
        flight = changes.some(inside)
        np.add.at(state.spent_micros, flight.campaign, flight.cost_micros)
        kept = changes.some(inside & (changes.hour >= state.hour[changes.campaign] - remembered))
        place = (kept.campaign, kept.hour % remembered, kept.segment)
        for name in _COUNTS:
            np.add.at(getattr(state, name), place, getattr(kept, name).astype(getattr(state, name).dtype))
        if self.brief.creatives > 1:
            which = (kept.campaign, kept.segment, state.creative[place])
            np.add.at(state.creative_impressions, which, kept.impressions.astype(np.int32))
            np.add.at(state.creative_clicks, which, kept.clicks.astype(np.int32))

    def _correct_fading(self, changes: LateChanges, share: Floats, age: Ints) -> None:
        """Exposure and open clicks of an earlier hour that have not faded; the newest hour has an age of 1."""
        state, model, pair = self._state, self._model, (changes.campaign, changes.segment)
        exposed = changes.impressions * share * model.exposure_kept ** (age - 1.0) / state.audience[pair]
        np.add.at(state.exposure, pair, exposed.astype(np.float32))
        for k, part in enumerate(model.delay_share):
            open_now = changes.clicks * share * model.open_share * part
            open_now = open_now * self._kept[k][pair].astype(np.float64) ** age
            np.add.at(state.maturing, pair, open_now.astype(np.float32))
            if state.maturing_parts.shape[1]:
                np.add.at(state.maturing_parts[:, k], pair, open_now.astype(np.float32))

    def report_share(
        self, first_hour: Ints, last_hour: Ints, impressions: Ints, share: Floats, floor: float = SHARE_FLOOR
    ) -> None:
        """Take in impression shares (N, S) of the hours from first to before last, such as a whole day's.

        They correct the volume forecast of later hours. Below the floor, as 0.0999, a share only says that at least ten
        times the impressions were possible; NaN says nothing.
        """
        state = self._state
        hours = first_hour[:, None] + np.arange(int((last_hour - first_hour).max(initial=0)))
        expected = (self._forecast(hours) * (hours < last_hour[:, None])[:, :, None]).sum(axis=1)
        possible, _ = opportunities_from_share(impressions, share, floor)
        least = np.where((share < floor) & (impressions / floor > expected), impressions / floor, np.nan)
        possible = np.where(np.isnan(possible), least, possible)
        known = np.isfinite(possible)
        state.known_volume[known] += possible[known]
        state.known_forecast[known] += expected[known]

    def _forecast(self, hours: Ints) -> Floats:
        """Forecast volume of hours (N, T) since launch, (N, T, S)."""
        hour_of_week = (self.brief.start_hour_of_week[:, None] + hours) % _WEEK_HOURS
        activity = self.brief.activity[self.brief.persona[:, None, :], hour_of_week[:, :, None]]
        return np.asarray(self.brief.volume_forecast[:, None, :] * activity, dtype=np.float64)

    def _take_in(self, rows: ReportedHours, new: Ints) -> None:
        """The next hour of some campaigns."""
        state, brief, model = self._state, self.brief, self._model
        hour = rows.hour[new]
        place = (new, hour % self._spec.revised_hours)
        money_micros = self._day_left(state.reported)[new]
        for name in _COUNTS:
            figures = self._values(rows) if name == "value_micros" else getattr(rows, name)
            getattr(state, name)[place] = figures[new]
            getattr(state, f"total_{name}")[new] += figures[new]
        state.new_conversions[new] += rows.conversions[new]
        state.spent_micros[new] += rows.cost_micros[new].sum(axis=1)
        state.reported[new] += 1
        self._count_creatives(place)
        state.opportunities[new], state.opportunities_error[new] = self._volume(rows, new)
        state.in_market[new] = self._in_market(rows, place, money_micros)
        passing = PassingHour(
            hour_of_day=brief.hour_of_day(rows.hour)[new],
            opportunities=state.opportunities[new],
            opportunities_error=state.opportunities_error[new].astype(np.float64),
            impressions=state.impressions[place],
            clicks=state.clicks[place],
            bid_log=state.bid_log[place],
            pace=state.pace[place],
            in_market=state.in_market[new],
        )
        parts = np.ascontiguousarray(state.maturing_parts[new].transpose(1, 0, 2))
        moving = Moving(parts, *(getattr(state, name)[new] for name in Moving._fields[1:]))
        fading = (
            np.full((len(new), brief.segments), model.open_share, np.float32),
            model.delay_share,
            np.ascontiguousarray(self._kept[:, new]),
            np.full((len(new), brief.segments), model.exposure_kept, np.float32),
            state.audience[new],
        )
        pass_hour(passing, moving, fading, model.price_at_win_rate, brief.price_profile_log)
        state.maturing_parts[new] = moving.maturing_parts.transpose(1, 0, 2)
        for name in Moving._fields[1:]:
            getattr(state, name)[new] = getattr(moving, name)

    def _count_creatives(self, place: tuple[Ints, Ints]) -> None:
        """Add the hour to the creatives served in it; a single creative is not counted, as in the market."""
        if self.brief.creatives > 1:
            state, at = self._state, place[0][:, None]
            which = (at, np.arange(self.brief.segments)[None, :], state.creative[place])
            state.creative_impressions[which] += state.impressions[place]
            state.creative_clicks[which] += state.clicks[place]

    def _volume(self, rows: ReportedHours, new: Ints) -> tuple[Ints32, Floats32]:
        """Possible impressions of the newest hour and their relative error, (n, S)."""
        state, model = self._state, self._model
        expected = self._forecast(rows.hour[:, None])[new, 0]
        given = np.full(expected.shape, np.nan) if rows.opportunities is None else rows.opportunities[new]
        known = np.isfinite(given)
        exact = np.zeros(expected.shape) if rows.opportunities_error is None else rows.opportunities_error[new]
        prior = self._spec.volume_prior_hours * self.brief.volume_forecast[new].astype(np.float64)
        learned = (prior, state.known_volume[new], state.known_forecast[new])
        errors = (model.forecast_log_error, model.volume_overdispersion)
        estimate, doubt = forecast_opportunities(expected, rows.impressions[new], learned, errors)
        state.known_volume[new] += np.where(known, given, 0.0)
        state.known_forecast[new] += np.where(known, expected, 0.0)
        possible = np.rint(np.where(known, given, estimate)).astype(np.int32)
        return possible, np.where(known, exact, doubt).astype(np.float32)

    def _in_market(self, rows: ReportedHours, place: tuple[Ints, Ints], money_micros: Ints) -> Floats32:
        """Share of the hour before the money ran out, (n,); with no money at all, 1 as in the market."""
        state, new = self._state, place[0]
        bid_log = state.bid_log[place]
        spent = state.cost_micros[place].sum(axis=1)
        most = np.where(bid_log > 0, np.exp(bid_log.astype(np.float64)), 0.0).sum(axis=1)
        ran_out = (money_micros > 0) & (money_micros - spent < most)
        expected = expected_wins(state.opportunities[new], bid_log, state.price_level_log[new], self._model.win)
        expected = expected * state.pace[place]
        shown = state.impressions[place].sum(axis=1)
        estimate = np.where(ran_out, np.clip(shown / np.maximum(expected, 1.0), 0.0, 1.0), 1.0)
        if rows.in_market is None:
            return estimate.astype(np.float32)
        given = rows.in_market[new]
        return np.where(np.isfinite(given), given, estimate).astype(np.float32)

    def _day_left(self, hour: Ints) -> Ints:
        """What today's cap still allows by what is reported, (N,), in an hour since launch of each campaign."""
        state, brief, remembered = self._state, self.brief, self._spec.revised_hours
        today = hour[:, None] - (hour % brief.hours_per_day)[:, None] + np.arange(brief.hours_per_day)
        counted = today < np.minimum(state.reported, hour)[:, None]
        cost = state.cost_micros[self._everyone[:, None], today % remembered].sum(axis=2) * counted
        today_left = np.minimum(brief.daily_cap_micros - cost.sum(axis=1), self._left())
        return np.asarray(np.maximum(today_left, 0), dtype=np.int64)

    def _left(self) -> Ints:
        return np.asarray(np.maximum(self.brief.budget_micros - self._state.spent_micros, 0), dtype=np.int64)

    @property
    def opportunities_error(self) -> Floats32:
        """Relative error of the observation's opportunities, (N, S); 0 where they are known exactly."""
        return self._state.opportunities_error.copy()

    def observe(self) -> Observation:
        """What a policy sees now."""
        state, brief, remembered = self._state, self.brief, self._spec.revised_hours
        started, began = state.reported > 0, state.hour > 0
        newest = (self._everyone, (state.reported - 1) % remembered)
        acted = (self._everyone, (state.hour - 1) % remembered)
        profile = brief.price_profile_log
        moved = profile[brief.hour_of_day(state.hour)] - profile[brief.hour_of_day(state.reported)]
        level_log = state.price_level_log + moved[:, None]
        launch_log = brief.price_forecast_log + profile[brief.hour_of_day(0)][:, None]
        return Observation(
            hour=state.hour.copy(),
            left_micros=self._left(),
            day_left_micros=self._day_left(state.hour),
            opportunities=state.opportunities.copy(),
            impressions=state.impressions[newest] * started[:, None],
            clicks=state.clicks[newest] * started[:, None],
            conversions=_whole(state.new_conversions),
            cost_micros=state.cost_micros[newest] * started[:, None],
            in_market=state.in_market.copy(),
            total_impressions=_whole(state.total_impressions),
            total_clicks=_whole(state.total_clicks),
            total_conversions=_whole(state.total_conversions),
            total_cost_micros=np.rint(state.total_cost_micros).astype(np.int64),
            maturing_clicks=np.maximum(state.maturing, np.float32(0)),
            exposure=np.maximum(state.exposure, np.float32(0)),
            price_level_log=level_log,
            price_signal_log=state.price_signal_log.copy(),
            bid_log=np.where(began[:, None], state.bid_log[acted], launch_log),
            pace=np.where(began, state.pace[acted], np.float32(1)),
            creative=state.creative[acted] * began[:, None].astype(np.int8),
            creative_impressions=state.creative_impressions.copy(),
            creative_clicks=state.creative_clicks.copy(),
            known_value_log=None,
        )


def _kept(delay_hours: Floats32, length: Floats) -> Floats32:
    """Share of unreported clicks of each delay part that is still open an hour later, (K, N, S)."""
    delay = delay_hours.astype(np.float64) * length[:, None, None]
    return np.where(delay > 0, np.exp(-1.0 / np.where(delay > 0, delay, 1.0)), 0.0).astype(np.float32)


def _whole(figures: Floats) -> Ints32:
    return np.maximum(np.rint(figures), 0).astype(np.int32)
