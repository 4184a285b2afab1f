"""A policy on a log: it bids what it would have bid, knowing only what was known then."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import DataError
from gaelp.history.logged_actions import LogDrivingSpec, LoggedHours, policy_on_log
from gaelp.market.baselines.constant import Constant, ConstantParameters
from gaelp.market.build import build_market, load_market_spec, load_persona_table
from gaelp.market.from_reports import (
    BidRules,
    DrivingSpec,
    LateChanges,
    ObserverSpec,
    brief_from_estimates,
    report_model,
)
from gaelp.market.market import seeds_from
from tests.market.from_reports.market_reports import build_policy

CERTAIN = {"prior_clicks": 1e15}  # click rates that no report changes
HOURS, CAMPAIGNS, SEGMENTS = 100, 3, 8


@pytest.fixture(scope="module")
def market():
    """Flights of three days whose money lasts; the size of the audience is known."""
    spec = load_market_spec("cal")
    ample = {"share_low": 2.0, "share_high": 2.0, "daily_low": 2.0, "daily_high": 2.0}
    numbers = {**spec.model_dump(), "budget": ample, "volume": {"prior_log_error": 0.0}}
    return build_market(spec.model_validate(numbers), load_persona_table("personas"))


@pytest.fixture(scope="module")
def brief(market):
    """Three campaigns of an account, whose flights have two days of reports that are three hours late."""
    shape = (CAMPAIGNS, SEGMENTS)
    made = brief_from_estimates(
        market,
        volume_per_hour=np.full(shape, 100.0),
        price_level_log=np.full(shape, np.log(20_000.0)),
        conversion_value_micros=np.full(CAMPAIGNS, 30_000_000),
        daily_budget_micros=np.full(CAMPAIGNS, 200_000_000),
        start_hour_of_week=np.array([0, 24, 48]),
        report_lag_hours=3,
    )
    return replace(made, hours=np.full(CAMPAIGNS, 48))


def drawn_log(rng, hours=HOURS, changes=40):
    """A log whose numbers have no meaning beyond being possible."""
    shape = (hours, CAMPAIGNS, SEGMENTS)
    impressions = rng.poisson(30, shape)
    clicks = rng.binomial(impressions, 0.04)
    hour = rng.integers(0, hours - 10, changes)
    late = LateChanges(
        campaign=rng.integers(0, CAMPAIGNS, changes),
        segment=rng.integers(0, SEGMENTS, changes),
        hour=hour,
        impressions=np.zeros(changes, np.int64),
        clicks=-(rng.random(changes) < 0.1).astype(np.int64),
        conversions=np.ones(changes),
        cost_micros=np.zeros(changes, np.int64),
        value_micros=np.zeros(changes, np.int64),
    )
    return LoggedHours(
        bid_micros=(rng.lognormal(0, 0.4, shape) * 600_000).astype(np.int64),
        impressions=impressions,
        clicks=clicks,
        cost_micros=clicks * 400_000,
        conversions=np.zeros(shape),
        day_share=rng.uniform(0.05, 0.9, (hours // 24, CAMPAIGNS, SEGMENTS)),
        changes=late,
        changes_known=hour + rng.integers(1, 60, changes),
    )


def drive(policy, brief, market, log, reference=600_000, **spec):
    rate = np.full((CAMPAIGNS, SEGMENTS), 0.04)
    model = report_model(market.spec, market.landscapes)
    carry = {"carry_belief": spec.pop("carry_belief", False)}
    given = LogDrivingSpec(driving=DrivingSpec(**spec), **carry)
    reference = np.broadcast_to(reference, (CAMPAIGNS, SEGMENTS))
    return policy_on_log(policy, brief, log, reference, model=model, click_rate=rate, spec=given)


@pytest.mark.parametrize("key", ["mpc", "learned"])
def test_on_its_own_log_a_policy_bids_what_was_logged(key, market):
    """Played in the market, logged as bids for clicks with known click rates, and driven along that log."""
    obs = market.reset(seeds_from(1, 4))
    rate = market.world.click_rate.astype(np.float64)
    policy = build_policy(key)
    policy.begin(market.brief)
    rows = {name: [] for name in ("bid_micros", "impressions", "clicks", "cost_micros", "conversions", "opportunities")}
    while not market.done:
        action = policy.act(obs)
        rows["bid_micros"].append(np.maximum(np.rint(action.bid_micros / rate), 1).astype(np.int64))
        obs, _ = market.step(action)
        for name in list(rows)[1:]:
            kind = np.float64 if name in ("conversions", "opportunities") else np.int64
            rows[name].append(getattr(market.state, name).astype(kind))
    log = LoggedHours(**{name: np.stack(hours) for name, hours in rows.items()})
    rules = BidRules(unit_micros=1, reference_factor=50)
    actions = policy_on_log(
        build_policy(key),
        market.brief,
        log,
        np.exp(np.log(log.bid_micros).mean(axis=0)),
        model=report_model(market.spec, market.landscapes),
        click_rate=rate,
        spec=LogDrivingSpec(driving=DrivingSpec(bids=rules, **CERTAIN)),
    )
    wanted = np.log(log.bid_micros / np.exp(np.log(log.bid_micros).mean(axis=0)))
    assert actions.clipped_share == 0
    np.testing.assert_allclose(actions.action, wanted, atol=2e-3)
    assert np.abs(actions.action).max() > 0.1


@given(seed=st.integers(0, 1000), now=st.integers(1, HOURS - 1))
@settings(max_examples=8, deadline=None)
def test_what_was_not_yet_known_changes_no_bid(market, brief, seed, now):
    rng = np.random.default_rng(seed)
    log, lag = drawn_log(rng), 3
    other = drawn_log(np.random.default_rng(seed + 1))
    first_unknown = max(now - lag, 0)
    columns = ("impressions", "clicks", "cost_micros", "conversions")
    mixed = {
        name: np.concatenate([getattr(log, name)[:first_unknown], getattr(other, name)[first_unknown:]])
        for name in columns
    }
    bids = np.concatenate([log.bid_micros[:now], other.bid_micros[now:]])
    days = max((now - 12) // 24, 0)
    shares = np.concatenate([log.day_share[:days], other.day_share[days:]])
    soon, later = log.changes_known <= now, other.changes_known > now
    changes = [log.changes.some(soon), other.changes.some(later)]
    joined = LateChanges(*(np.concatenate([getattr(part, name) for part in changes]) for name in LateChanges.__slots__))
    known = np.concatenate([log.changes_known[soon], other.changes_known[later]])
    changed = LoggedHours(**mixed, bid_micros=bids, day_share=shares, changes=joined, changes_known=known)
    first, second = (drive(build_policy("mpc"), brief, market, each) for each in (log, changed))
    np.testing.assert_array_equal(first.action[: now + 1], second.action[: now + 1])


def test_what_is_known_changes_bids(market, brief):
    first, second = (
        drive(build_policy("mpc"), brief, market, drawn_log(np.random.default_rng(seed))) for seed in (1, 2)
    )
    assert (first.action != second.action).any()


class Recorder(Constant):
    """Remembers what it was given."""

    def __init__(self):
        super().__init__(ConstantParameters())
        self.briefs, self.beliefs, self.observations = [], [], []

    def begin(self, brief, belief=None, /):
        super().begin(brief)
        self.briefs.append(brief)
        self.beliefs.append(belief)

    def act(self, obs, /):
        self.observations.append(obs)
        return super().act(obs)


def test_a_long_log_is_driven_in_flights_with_budgets_and_days_of_their_own(market, brief):
    recorder, log = Recorder(), drawn_log(np.random.default_rng(1))
    drive(recorder, brief, market, log)
    assert [each.hours[0] for each in recorder.briefs] == [48, 48, 4]
    assert [each.start_hour_of_week.tolist() for each in recorder.briefs] == [[0, 24, 48], [48, 72, 96], [96, 120, 144]]
    assert [each.budget_micros[0] for each in recorder.briefs] == [600_000_000, 600_000_000, 50_000_000]
    hours = [int(obs.hour[0]) for obs in recorder.observations]
    assert hours == [*range(48), *range(48), *range(4)]
    for hour in (0, 48, 96):
        assert not recorder.observations[hour].total_clicks.any()
        assert np.array_equal(recorder.observations[hour].left_micros, recorder.briefs[hour // 48].budget_micros)
    np.testing.assert_array_equal(recorder.observations[52].total_clicks, log.clicks[48:49].sum(axis=0))
    np.testing.assert_array_equal(recorder.observations[47].impressions, log.impressions[43])
    assert recorder.beliefs == [None] * 3


def test_evidence_of_earlier_flights_is_carried_over_on_request(market, brief):
    log = drawn_log(np.random.default_rng(1), changes=0)
    recorder = Recorder()
    drive(recorder, brief, market, log, carried_share=1.0, carry_belief=True)
    known = log.clicks[: 52 - 3].sum(axis=0)
    np.testing.assert_array_equal(recorder.observations[52].total_clicks, known)
    assert np.array_equal(recorder.observations[48].left_micros, recorder.briefs[1].budget_micros)
    assert recorder.beliefs[0] is None
    assert recorder.beliefs[1].value_log.shape == (CAMPAIGNS, SEGMENTS)
    assert (recorder.beliefs[2].value_log_sd <= recorder.beliefs[1].value_log_sd).all()


def test_late_conversions_and_clicks_taken_back_count_from_when_they_were_known(market, brief):
    log = drawn_log(np.random.default_rng(2), changes=0)
    one = np.ones(1, np.int64)
    change = LateChanges(one, 2 * one, 5 * one, 0 * one, -one, 3.0 * one, -7 * one, 0 * one)
    plain, late = Recorder(), Recorder()
    drive(plain, brief, market, log)
    drive(late, brief, market, replace(log, changes=change, changes_known=20 * one))
    for hour in range(48):
        before, after = plain.observations[hour], late.observations[hour]
        known = hour >= 20
        assert after.total_conversions[1, 2] - before.total_conversions[1, 2] == 3 * known
        assert after.total_clicks[1, 2] - before.total_clicks[1, 2] == -known
        assert after.left_micros[1] - before.left_micros[1] == 7 * known
        assert after.conversions[1, 2] == 3 * (hour == 20)


def test_bids_stay_within_the_factor_of_the_reference_and_the_clipped_share_is_counted(market, brief):
    log = drawn_log(np.random.default_rng(3))
    actions = drive(build_policy("mpc"), brief, market, log)
    assert np.abs(actions.action).max() <= np.log(1.5)
    assert 0 < actions.clipped_share <= 1
    free = drive(build_policy("mpc"), brief, market, log, bids={"reference_factor": 100})
    assert free.clipped_share < actions.clipped_share
    outside = np.abs(free.action) > np.log(1.55)
    assert actions.clipped[outside].mean() > 0.95


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clicks": np.zeros((5, 3, 8), np.int64)}, "fill hours with 0"),
        ({"bid_micros": np.zeros((HOURS, CAMPAIGNS, SEGMENTS), np.int64)}, "all above 0"),
        ({"changes_known": None}, "give both"),
    ],
)
def test_a_log_that_cannot_be_read_is_refused(change, message):
    with pytest.raises(DataError, match=message):
        replace(drawn_log(np.random.default_rng(0)), **change)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["mpc", "learned"])
def test_six_weeks_of_twelve_campaigns_take_less_than_twenty_seconds(key, market, monkeypatch):
    monkeypatch.setattr(f"{__name__}.CAMPAIGNS", 12)
    shape = (12, SEGMENTS)
    brief = brief_from_estimates(
        market,
        volume_per_hour=np.full(shape, 100.0),
        price_level_log=np.full(shape, np.log(20_000.0)),
        conversion_value_micros=np.full(12, 30_000_000),
        daily_budget_micros=np.full(12, 200_000_000),
        start_hour_of_week=np.zeros(12, np.int64),
        report_lag_hours=3,
    )
    log = drawn_log(np.random.default_rng(0), hours=1008, changes=2000)
    drive(build_policy(key), brief, market, drawn_log(np.random.default_rng(0), hours=72))
    start = time.process_time()
    drive(build_policy(key), brief, market, log, observer=ObserverSpec(revised_hours=72))
    seconds = time.process_time() - start
    print(f"{key}: {seconds:.1f} s")  # noqa: T201 - the figure
    assert seconds < 20
