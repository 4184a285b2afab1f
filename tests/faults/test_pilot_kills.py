"""Pilots that are killed once a day at a random moment: nothing is lost or done twice, and no cap is passed."""

import random
import signal
import time
from collections import Counter
from contextlib import closing
from datetime import timedelta

import pytest

from gaelp.budget.ledger import overview, verify
from gaelp.guard_bootstrap import opened_guard
from gaelp.pilot.decision_book import DecisionBook, book_place
from gaelp.platforms import reconcile
from gaelp.platforms.order_book import orders_of_day
from gaelp.platforms.unknown_outcomes import transfers_of
from gaelp.sandbox.start_process import running_sandbox
from tests.faults.pilot_faults import log_of, prepare, start
from tests.pilot.pilot_account import sandbox_options

DAY_HOURS = 24


def run_with_kills(folder, plan, settings, rng, *, patience=6000):
    """Run to the end; once a day, some moment after a random hour has been decided, kill the process."""
    kills, deadline = 0, time.monotonic() + patience
    book = DecisionBook(book_place(settings), plan.name)
    moments = [(DAY_HOURS * day + rng.randrange(DAY_HOURS), rng.random() * 1.5) for day in range(plan.days)]
    process = start(folder)
    with closing(book):
        while process.poll() is None or moments:
            assert time.monotonic() < deadline, log_of(folder)
            if process.poll() is not None:
                assert process.returncode == 0, log_of(folder)
                break
            if moments and (book.last_interval() or 0) >= moments[0][0]:
                time.sleep(moments.pop(0)[1])
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
                process = start(folder)
            time.sleep(0.02)
    assert process.wait() == 0, log_of(folder)
    return kills


def check_books(plan, settings, handle):
    """Caps, ledger, platform and decisions agree."""
    with opened_guard(settings) as guard:
        handle.advance(handle.now() + timedelta(days=4))  # until the last costs are final
        report = reconcile(guard)
        assert report.failures == ()
        first, last = plan.first_day, plan.settled_day
        costs = {(cost.campaign, cost.day): cost.micros for cost in guard.platform.read_costs(first, last).costs}
        for cap in overview(guard.ledger).caps:
            assert cap.reserved_micros + cap.posted_micros <= cap.limit_micros, cap
        assert verify(guard.ledger).balances
        booked, budgets = Counter(), Counter()
        for number in range(plan.days):
            day = first + timedelta(days=number)
            for row in orders_of_day(guard.ledger, guard.account.id, day.isoformat()):
                for transfer in transfers_of(guard, [row]):
                    booked[row.campaign, day] += transfer.posted_micros + transfer.adjusted_micros
                budgets[row.campaign, day] += row.kind == "budget" and row.outcome == "done"
        assert {key: micros for key, micros in booked.items() if micros} == costs
        daily = {campaign.name: campaign.daily_micros for campaign in plan.campaigns}
        assert all(micros <= 2 * daily[campaign] for (campaign, _), micros in costs.items())
        assert len(budgets) == len(plan.campaigns) * plan.days
        assert min(budgets.values()) >= 1  # no day without a budget
        assert guard.violations.list() == ()
        return sum(costs.values())


def check_decisions(plan, settings):
    """Each hour was decided once for each campaign, and none was missed."""
    with closing(DecisionBook(book_place(settings), plan.name)) as book:
        rows, decisions = book.intervals(), book.decisions()
    assert [row.interval for row in rows] == list(range(DAY_HOURS * plan.days))
    assert {row.state for row in rows} == {"decided"}
    counts = Counter(decision.interval for decision in decisions)
    assert set(counts.values()) == {len(plan.campaigns)}


def kill_rounds(tmp_path, seed, **plan):
    rng = random.Random(seed)  # noqa: S311 - one seed reproduces a failure
    with running_sandbox(tmp_path / "sandbox", sandbox_options(seed)) as handle:
        planned, settings = prepare(tmp_path, handle, **plan)
        kills = run_with_kills(tmp_path, planned, settings, rng)
        check_decisions(planned, settings)
        spent = check_books(planned, settings, handle)
    print(f"seed {seed}: {kills} kills in {planned.days} days, {spent / 1e6:.2f} spent")  # noqa: T201 - the figure
    assert kills == planned.days
    assert spent > 0


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_two_campaigns_over_seven_days_with_a_kill_each_day(tmp_path):
    kill_rounds(tmp_path, 11, campaigns=2, days=7)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_200_pilot_days_with_a_kill_each_day(tmp_path):
    kill_rounds(tmp_path, 12, campaigns=10, days=20)
