"""Exposure grows by proof, waits in doubt and ends at harm; nothing pending outranks an abort."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.errors import BadInput, Refused
from gaelp.gates.lift_test import LiftInterval
from gaelp.release.exposure import (
    ExposurePlan,
    ExposureState,
    ExposureStep,
    abort_now,
    choose_strategy,
    next_exposure,
    plan_exposure,
)
from gaelp.release.exposure_checks import CheckLimits, Feedback, ReleaseEvidence, ServedDays

LIMITS = CheckLimits(loss_cap_micros=500_000_000)
PLAN = plan_exposure("canary", LIMITS, lift_lower_min=0.15, step_days=2, pairs_min=100, hold_deadline_days=30)
UNKNOWN = LiftInterval(math.nan, -1.0, math.inf, 0, 0.0)
PROVEN = LiftInterval(0.4, 0.2, 0.6, 400, 0.0)
WORSE = LiftInterval(-0.3, -0.5, -0.01, 400, 0.0)
PROVING = ExposureState(step=3, since_day=6)


def evidence_of(day=8, lift=UNKNOWN, **changed):
    quiet = {"loss_micros": 0, "day_spend_micros": 100, "day_planned_micros": 100, "decisions": 100}
    return ReleaseEvidence(day=day, lift=lift, **{**quiet, **changed})


def checks(decision):
    return [finding.check for finding in decision.findings]


HARM = {
    "stopped": {"stopped": "killed by ana: wrong prices"},
    "violations": {"violations": ("campaign a spent above its cap",)},
    "loss": {"loss_micros": 500_000_001},
    "cost-spike": {"day_spend_micros": 201},
}
DISAPPOINTMENT = {
    "worse": {"lift": WORSE},
    "sample-ratio": {"served": ServedDays(100, 80, 100, 100)},
    "negative-feedback": {"feedback": Feedback(30, 10_000, 10, 10_000)},
}


def test_a_good_release_takes_every_step_once_and_is_promoted_by_proof():
    state, outcomes, percents = ExposureState(), [], []
    for day in range(12):
        decision = next_exposure(PLAN, state, evidence_of(day, PROVEN if day >= 10 else UNKNOWN))
        state = decision.state
        outcomes.append(decision.outcome)
        percents.append(decision.percent)
    assert percents == [0, 0, 10, 10, 25, 25, 50, 50, 50, 50, 100, 100]
    assert [outcome for outcome in outcomes if outcome != "hold"] == ["advance", "advance", "advance", "promote"]
    assert state.ended == "promoted"


@pytest.mark.parametrize("harm", HARM)
@given(step=st.integers(0, 4), day=st.integers(0, 60))
def test_harm_aborts_at_every_step_and_outranks_a_pending_promotion(harm, step, day):
    state = ExposureState(step=step, ended="promoted" if step == 4 else "")
    decision = next_exposure(PLAN, state, evidence_of(day, **{"lift": PROVEN, **HARM[harm]}))
    assert (decision.outcome, decision.percent, checks(decision)) == ("abort", 0, [harm])
    assert decision.state.ended == "aborted"


@pytest.mark.parametrize("cause", DISAPPOINTMENT)
def test_disappointment_rolls_back_before_any_promotion(cause):
    decision = next_exposure(PLAN, PROVING, evidence_of(**{"lift": PROVEN, **DISAPPOINTMENT[cause]}))
    assert (decision.outcome, decision.percent, checks(decision)) == ("roll_back", 0, [cause])
    assert decision.findings[0].figures


def test_abort_outranks_rollback():
    decision = next_exposure(PLAN, PROVING, evidence_of(lift=WORSE, **HARM["loss"]))
    assert (decision.outcome, checks(decision)) == ("abort", ["loss"])


@pytest.mark.parametrize(
    "quiet",
    [
        {"loss_micros": 500_000_000},
        {"day_spend_micros": 200},
        {"lift": LiftInterval(-0.2, -0.5, 0.0, 400, 0.0)},
        {"served": ServedDays(100, 96, 100, 100)},
        {"served": ServedDays(100, 80, 100, 80)},
        {"feedback": Feedback(3, 1000, 10, 10_000)},  # three times the baseline, by three complaints
        {"feedback": Feedback(190, 10_000, 100, 10_000)},
        {"feedback": Feedback(1, 1000, 0, 10_000)},
        {"decisions": 100, "errors": 100},  # the first such check
    ],
)
def test_within_the_limits_the_release_holds_and_says_for_what(quiet):
    decision = next_exposure(PLAN, PROVING, evidence_of(**quiet))
    assert decision.outcome == "hold"
    assert "lift" in checks(decision)


def test_three_checks_in_a_row_with_too_many_errors_roll_back():
    state = PROVING
    outcomes = []
    for errors, decisions in [(8, 100), (8, 100), (5, 100), (8, 100), (0, 0), (8, 100), (8, 100)]:
        decision = next_exposure(PLAN, state, evidence_of(errors=errors, decisions=decisions))
        state = decision.state
        outcomes.append(decision.outcome)
    assert outcomes == ["hold"] * 6 + ["roll_back"]
    assert decision.findings[0].figures["checks_in_a_row"] == 3


def test_an_inconclusive_release_holds_until_its_deadline_and_then_rolls_back():
    assert next_exposure(PLAN, PROVING, evidence_of(35, UNKNOWN)).outcome == "hold"
    decision = next_exposure(PLAN, PROVING, evidence_of(36, UNKNOWN))
    assert (decision.outcome, checks(decision)) == ("roll_back", ["deadline", "pairs", "lift"])


@pytest.mark.parametrize(
    ("lift", "waits_for"),
    [
        (LiftInterval(0.4, 0.2, 0.6, 99, 0.0), ["pairs"]),
        (LiftInterval(0.4, 0.149, 0.6, 400, 0.0), ["lift"]),
        (LiftInterval(0.4, math.nan, 0.6, 400, 0.0), ["lift"]),
        (UNKNOWN, ["pairs", "lift"]),
    ],
)
def test_a_promotion_needs_pairs_and_a_shown_lift(lift, waits_for):
    assert checks(next_exposure(PLAN, PROVING, evidence_of(lift=lift))) == waits_for


def test_a_proven_lift_waits_for_the_days_of_its_step():
    assert checks(next_exposure(PLAN, PROVING, evidence_of(7, PROVEN))) == ["days"]
    assert next_exposure(PLAN, PROVING, evidence_of(8, PROVEN)).outcome == "promote"


@pytest.mark.parametrize(("ended", "outcome"), [("rolled_back", "roll_back"), ("aborted", "abort")])
def test_what_has_ended_stays_ended(ended, outcome):
    state = ExposureState(step=3, ended=ended)
    decision = next_exposure(PLAN, state, evidence_of(lift=PROVEN))
    assert (decision.outcome, decision.percent, decision.state) == (outcome, 0, state)


def test_a_promoted_agent_is_still_watched():
    promoted = ExposureState(step=4, ended="promoted")
    assert next_exposure(PLAN, promoted, evidence_of(300, PROVEN)).outcome == "hold"
    assert next_exposure(PLAN, promoted, evidence_of(300, WORSE)).outcome == "roll_back"


@given(step=st.integers(0, 3), since=st.integers(0, 5), day=st.integers(5, 60), errors=st.integers(0, 100))
def test_a_stored_state_continues_as_if_it_had_not_been_stored(step, since, day, errors):
    state = ExposureState(step=step, since_day=since, error_streak=1)
    restored = ExposureState.model_validate_json(state.model_dump_json())
    first, second = (next_exposure(PLAN, each, evidence_of(day, errors=errors)) for each in (state, restored))
    assert first == second
    assert type(first).model_validate_json(first.model_dump_json()) == first


@pytest.mark.parametrize(
    ("improvement", "lower", "strategy"),
    [
        (0.3, 0.15, "blue_green"),
        (0.3, 0.149, "canary"),
        (0.1, 0.05, "canary"),
        (0.1, 0.049, "cautious_canary"),
        (0.0, -0.4, "cautious_canary"),
        (-0.01, -0.4, "abort"),
    ],
)
def test_the_strategy_follows_from_what_was_proven_before(improvement, lower, strategy):
    assert choose_strategy(improvement, lower) == strategy


def test_without_a_proof_there_is_no_strategy():
    with pytest.raises(BadInput, match="measure it first"):
        choose_strategy(0.3, math.nan)


def test_the_plan_of_a_strategy_starts_in_shadow_and_a_worse_agent_gets_none():
    sizes = {"lift_lower_min": 0.05, "step_days": 1, "pairs_min": 100, "hold_deadline_days": 9}
    percents = {
        name: [step.percent for step in plan_exposure(name, LIMITS, **sizes).steps]
        for name in ("blue_green", "canary", "cautious_canary")
    }
    assert percents == {
        "blue_green": [0, 50, 100],
        "canary": [0, 10, 25, 50, 100],
        "cautious_canary": [0, 5, 10, 25, 50, 100],
    }
    with pytest.raises(Refused, match="expected to be worse"):
        plan_exposure("abort", LIMITS, **sizes)


@pytest.mark.parametrize("state", [ExposureState(step=4), ExposureState(step=5, ended="promoted")])
def test_a_state_that_the_plan_cannot_reach_is_refused(state):
    with pytest.raises(BadInput, match="restore the state that belongs to this plan"):
        next_exposure(PLAN, state, evidence_of())


def step(percent, **changed):
    return ExposureStep(**{"percent": percent, "days_min": 1, "pairs_min": 0, **changed})


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ((step(50, lift_lower_min=0.1), step(50)), "each above the one before"),
        ((step(10), step(50, lift_lower_min=0.1)), "the last at 100"),
        ((step(50), step(100)), "asks for no lift"),
        ((step(50, lift_lower_min=0.1, days_min=40), step(100)), "raise hold_deadline_days"),
        ((step(0, pairs_min=1), step(50, lift_lower_min=0.1), step(100)), "nothing is compared there"),
    ],
)
def test_a_plan_that_cannot_lead_to_a_proof_is_refused(steps, problem):
    with pytest.raises(ValidationError, match=problem):
        ExposurePlan(strategy="canary", steps=steps, hold_deadline_days=30, limits=LIMITS)


def test_an_estimate_that_is_asked_for_beside_the_bound_is_waited_for():
    plan = plan_exposure(
        "canary", LIMITS, lift_lower_min=0.05, lift_min=0.15, step_days=2, pairs_min=100, hold_deadline_days=30
    )
    low = next_exposure(plan, PROVING, evidence_of(lift=LiftInterval(0.14, 0.06, 0.3, 400, 0.0)))
    assert (low.outcome, checks(low)) == ("hold", ["estimate"])
    assert next_exposure(plan, PROVING, evidence_of(lift=LiftInterval(0.15, 0.06, 0.3, 400, 0.0))).outcome == "promote"


def test_between_days_only_money_and_safety_count_and_they_can_only_abort():
    state = ExposureState(step=1, since_day=2)
    good = evidence_of(lift=LiftInterval(0.5, 0.4, 0.6, 500, 0.0))
    assert abort_now(PLAN, state, good) is None
    assert abort_now(PLAN, state, evidence_of(lift=LiftInterval(-0.5, -0.6, -0.4, 500, 0.0))) is None
    lost = evidence_of(loss_micros=LIMITS.loss_cap_micros + 1)
    ended = abort_now(PLAN, state, lost)
    assert (ended.outcome, ended.percent, ended.state.ended, checks(ended)) == ("abort", 0.0, "aborted", ["loss"])
    assert abort_now(PLAN, ended.state, lost) is None  # once


@pytest.mark.parametrize(
    "harm",
    [
        {"stopped": "ann stopped it"},
        {"violations": ("a cap was passed",)},
        {"day_spend_micros": 21, "day_planned_micros": 10},
    ],
)
def test_every_money_guard_aborts_between_days(harm):
    assert abort_now(PLAN, ExposureState(step=1), evidence_of(**harm)).outcome == "abort"
