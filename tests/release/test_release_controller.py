"""Which bids a release puts in force: the agent's or the control's, by campaign and day."""

from types import SimpleNamespace

import numpy as np
import pytest

from gaelp.market.from_reports.bids import ClickBids
from gaelp.pilot.controller import Decision
from gaelp.release.control_bids import ScaledIncumbent
from gaelp.release.exposure import ExposureDecision, ExposureState
from gaelp.release.release_controller import DayDecision, ReleaseController, ReleaseSetup

NAMES = tuple(f"campaign-{number}" for number in range(6))
USUAL = np.full((6, 2), 1_000_000)
AGENT_BID = 700_000
BUDGET = np.full(6, 50_000_000)


class Agent:
    """Bids the same all the time; what a loop calls is counted."""

    def __init__(self):
        self.hour, self.has_ended, self.reports = 0, False, 0

    def decide(self):
        bids = np.full((6, 2), AGENT_BID)
        clicks = ClickBids(bids, np.ones(6), None, np.zeros((6, 2), bool))
        return Decision(self.hour, np.arange(6), clicks, np.log(bids / USUAL), None, None, None)

    def pass_hour(self, bid_micros):
        self.hour += 1

    def report(self, figures):
        self.reports += 1

    def state(self):
        return {"hour": np.array([self.hour])}

    def load_state(self, state):
        self.hour = int(state["hour"][0])


class Judge:
    """Gives each day the exposure that the test chose."""

    def __init__(self, percents, ends=None, *, abort_in=None):
        self.percents, self.ends, self.asked = percents, ends or {}, []
        self.abort_in, self.checked = abort_in, []  # the day, and the check of money, at which it aborts

    def __call__(self, day, before, state):
        self.asked.append((day, before))
        ended = self.ends.get(day, "")
        outcome = {"rolled_back": "roll_back", "promoted": "promote"}.get(ended, "hold")
        percent = 0.0 if ended == "rolled_back" else self.percents[day]
        kept = ExposureState(since_day=day, ended=ended) if ended else state
        return DayDecision(day, ExposureDecision(outcome=outcome, percent=percent, state=kept, findings=()), BUDGET)

    def check_money(self, day, until_now, state):
        if self.abort_in is None or state.ended or self.abort_in != (day, len(self.checked)):
            self.checked.append(day)
            return None
        kept = ExposureState(since_day=day, ended="aborted")
        return DayDecision(day, ExposureDecision(outcome="abort", percent=0.0, state=kept, findings=()), BUDGET)


def controller(judge, spend=lambda day: None, full_days=1):
    setup = ReleaseSetup("key", NAMES, None, USUAL.astype(float), BUDGET, full_days)
    return ReleaseController(Agent(), ScaledIncumbent(USUAL), setup, judge, spend_of_day=spend)


def run_hours(released, hours, in_force=None):
    decisions = []
    for _ in range(hours):
        decisions.append(released.decide())
        released.pass_hour(decisions[-1].bids.bid_micros if in_force is None else in_force)
    return decisions


def test_at_0_percent_every_campaign_has_the_bids_of_the_control():
    [decision] = run_hours(controller(Judge([0.0])), 1)
    assert (decision.bids.bid_micros == USUAL).all()
    assert (decision.log_factor == 0).all()


def test_at_100_percent_every_campaign_has_the_bids_of_the_agent():
    [decision] = run_hours(controller(Judge([100.0])), 1)
    assert (decision.bids.bid_micros == AGENT_BID).all()


def test_at_50_percent_each_campaign_has_one_day_of_each_in_two_days():
    released = controller(Judge([50.0, 50.0]))
    decisions = run_hours(released, 48)
    own = np.array([(decision.bids.bid_micros == AGENT_BID).all(axis=1) for decision in decisions])
    assert own[:24].all(axis=0).sum() == own[24:].all(axis=0).sum() == 3
    assert (own[0] ^ own[24]).all()
    assert (released.treated() == own[[0, 24]]).all()


def test_a_day_is_judged_once_at_its_first_decision():
    judge = Judge([50.0, 50.0])
    run_hours(controller(judge), 48)
    assert [day for day, _ in judge.asked] == [0, 1]


def test_days_on_which_nobody_decided_belong_to_no_side():
    released = controller(judge := Judge([50.0] * 4))
    run_hours(released, 1)
    for _ in range(71):
        released.pass_hour(USUAL)
    run_hours(released, 1)
    assert judge.asked[-1][0] == 3
    assert released.days_before().decided.tolist() == [True, False, False, True]
    before = judge.asked[-1][1]
    assert [len(array) for array in (before.treated, before.decided, before.daily_micros)] == [3, 3, 3]


def test_the_control_is_corrected_only_by_its_own_days_and_once_they_are_reported():
    released = controller(Judge([50.0] * 3), spend=lambda day: BUDGET if day < 1 else None)
    decisions = run_hours(released, 72)
    own = released.treated()
    expected = np.where(own[0], 1_000_000, 900_000)
    control_days = decisions[-1].bids.bid_micros[~own[2], 0]
    assert control_days.tolist() == expected[~own[2]].tolist()


def test_after_a_rollback_the_control_bids_everywhere_and_the_release_ends_once_they_are_in_force():
    released = controller(Judge([100.0, 100.0], {1: "rolled_back"}))
    run_hours(released, 24)
    decision = released.decide()
    assert (decision.bids.bid_micros == USUAL).all()
    assert not released.has_ended
    released.pass_hour(np.full((6, 2), AGENT_BID))  # the guard has not let the bids move so far yet
    assert not released.has_ended
    released.pass_hour(USUAL)
    assert released.has_ended
    assert released.is_restored


def test_a_rollback_that_cannot_restore_the_bids_ends_all_the_same_and_says_so():
    released = controller(Judge([100.0, 100.0], {1: "rolled_back"}))
    run_hours(released, 24)
    run_hours(released, 12, in_force=np.full((6, 2), AGENT_BID))
    assert released.has_ended
    assert not released.is_restored


def test_money_is_checked_at_every_decision_but_the_first_of_a_day():
    run_hours(controller(judge := Judge([50.0, 50.0])), 48)
    assert judge.checked == [0] * 23 + [1] * 23


def test_an_abort_within_a_day_gives_the_control_every_campaign_from_that_decision_on():
    noted = []
    released = controller(Judge([100.0], abort_in=(0, 4)))
    released._on_day = noted.append
    decisions = run_hours(released, 6)
    assert [(decision.bids.bid_micros == USUAL).all() for decision in decisions] == [False] * 5 + [True]
    assert [(each.exposure.outcome, each.at_hour) for each in noted] == [("hold", 0), ("abort", 5)]
    assert [released.treated_in(hour).any() for hour in (4, 5)] == [True, False]
    assert released.has_ended


def test_budgets_are_read_back_too_before_a_rollback_is_complete():
    released = controller(Judge([100.0, 100.0], {1: "rolled_back"}))
    in_force = 2 * BUDGET
    released._budgets_in_force = lambda: in_force
    run_hours(released, 25)
    assert not released.is_restored
    assert released.is_restoring
    in_force = BUDGET
    run_hours(released, 1)
    assert released.is_restored
    assert not released.is_restoring


def test_after_a_promotion_it_ends_with_its_days_at_100_percent():
    released = controller(Judge([50.0, 50.0, 100.0, 100.0], {2: "promoted"}), full_days=2)
    run_hours(released, 95)
    assert not released.has_ended
    run_hours(released, 1)
    assert released.has_ended


@pytest.mark.parametrize("hours", [1, 30, 50, 80])
def test_resumed_from_its_state_it_decides_the_same_and_judges_no_day_again(hours):
    judge = Judge([50.0] * 5)
    released, spend = controller(judge, lambda day: BUDGET), lambda day: BUDGET
    run_hours(released, hours)
    other = controller(again := Judge([50.0] * 5), spend)
    other.load_state(released.state())
    days = {day for day, _ in judge.asked}
    assert [d.bids.bid_micros.tolist() for d in run_hours(other, 30)] == [
        d.bids.bid_micros.tolist() for d in run_hours(released, 30)
    ]
    assert not days & {day for day, _ in again.asked}


def test_reports_reach_the_agent():
    released = controller(Judge([0.0]))
    released.report(SimpleNamespace())
    assert released._agent.reports == 1
