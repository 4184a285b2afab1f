"""Releases that are killed at random moments: no step is skipped or repeated, nothing is decided or sent twice."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from gaelp.budget.ledger import overview, verify
from gaelp.guard_bootstrap import opened_guard
from gaelp.pilot.decision_book import DecisionBook, book_place
from gaelp.platforms import reconcile
from gaelp.platforms.order_book import orders_of_day
from gaelp.platforms.unknown_outcomes import transfers_of
from gaelp.release.release_record import day_events, exposure_events
from gaelp.sandbox.start_process import running_sandbox
from tests.faults.pilot_faults import ROOT, own_environment, prepare
from tests.pilot.double_pilot import DoublePilot
from tests.pilot.pilot_account import sandbox_options
from tests.release.release_loop import release_plan, run_release

KILLS, CAMPAIGNS, DAYS = 50, 3, 20


class Killed(BaseException):
    """The process dies here: nothing catches it."""


# The rules that hold whatever is killed when


def decisions(book):
    """What was decided about each day."""
    names = ("day", "percent", "outcome")
    return [tuple(event.figures[name] for name in names) for event in day_events(book.events())]


def check_steps(plan, book):
    """Exposure is one of the plan's states, in the plan's order, decided once for each day."""
    percents = [step.percent for step in plan.exposure.steps]
    events = exposure_events(book.events())
    assert [event.figures["day"] for event in events] == list(range(len(events)))
    assert all(event.figures["percent"] in {*percents, 0.0} for event in events)
    steps = [percents.index(event.figures["percent"]) for event in events if event.figures["outcome"] != "roll_back"]
    assert all(after - before in (0, 1) for before, after in pairwise(steps))


def check_intervals(plan, book):
    """Each interval was decided once for each campaign, and none was missed."""
    rows = book.intervals()
    assert {row.state for row in rows} == {"decided"}
    counts = Counter((decision.interval, decision.campaign) for decision in book.decisions())
    assert set(counts.values()) == {1}
    assert len(counts) == len(rows) * len(plan.campaigns.campaigns)


# Small: on the platform double, in this process


def small_release(folder, *, kill_at=(), days=4):
    """Run a release to its end; it dies at each of these steps of the guard, and is started again."""
    folder.mkdir()
    pilot = DoublePilot(folder, days=days, loss_cap_micros=10**12)
    plan = release_plan(pilot.plan, percents=(0, 50, 100))
    steps, left = iter(range(10**9)), list(kill_at)

    def at_step(_):
        if left and next(steps) >= left[0]:
            left.pop(0)
            raise Killed

    deaths = 0
    while True:
        try:
            end = run_small(pilot, plan, at_step)
            break
        except Killed:
            deaths += 1
    with closing(DecisionBook(folder / "pilot.db", "pilot-1")) as book:
        check_steps(plan, book)
        check_intervals(plan, book)
        assert end.how == "finished"
        decided = decisions(book), [(each.interval, each.campaign, each.bids_micros) for each in book.decisions()]
    keys = [key for _, _, key in pilot.door.platform.sent("set_bids", "set_budget", "publish", "enable")]
    daily = {state.daily_micros for state in pilot.door.platform.campaigns.values()}
    assert daily == {campaign.daily_micros for campaign in plan.campaigns.campaigns}
    assert verify(pilot.door.ledger).balances
    pilot.door.ledger.close()
    return decided, Counter(keys), deaths


def run_small(pilot, plan, at_step):
    return run_release(
        replace(pilot.door.guard, at_step=at_step),
        plan,
        pilot.agent,
        folder=pilot.folder,
        mandate=pilot.mandate,
        place=pilot.folder / "pilot.db",
        timekeeper=pilot.traffic,
        budget=pilot.settings.budget,
        settings=pilot.settings.pilot,
        wall_clock=pilot.clock,
    )


def test_a_release_that_dies_six_times_decides_and_sends_what_an_undisturbed_one_does(tmp_path):
    rng = random.Random(5)  # noqa: S311 - one seed reproduces a failure
    undisturbed, sent, _ = small_release(tmp_path / "undisturbed")
    disturbed, again, deaths = small_release(tmp_path / "disturbed", kill_at=sorted(rng.sample(range(60), 6)))
    assert deaths == 6
    assert disturbed[0] == undisturbed[0]
    assert disturbed[1] == undisturbed[1]
    assert set(again) == set(sent)
    assert max(sent.values()) == 1


# Full: on the local ad platform, in a process of its own


def start(folder):
    program = [sys.executable, "-m", "tests.release.release_loop", str(folder)]
    with (folder / "release.log").open("ab") as log:
        return subprocess.Popen(program, cwd=ROOT, stdout=log, stderr=log, env=own_environment())


def prepared(folder, handle, **plan):
    """The folder of a release that is signed and has not begun."""
    planned, settings = prepare(folder, handle, **plan)
    release = release_plan(planned, percents=(0, 10, 50, 100))
    (folder / "release.json").write_text(release.model_dump_json())
    return release, settings


def run_with_kills(folder, settings, name, rng, kills, *, most_seconds=3.0):
    """Kill the process at a random moment after it is ready, and start it again; returns how often it was killed."""
    done, process = 0, start(folder)
    with closing(DecisionBook(book_place(settings), name)) as book:
        while process.poll() is None:
            if done >= kills:
                process.wait()
                break
            before, begun = book.last_interval(), time.monotonic()
            while process.poll() is None and book.last_interval() == before and time.monotonic() - begun < 60:
                time.sleep(0.02)
            time.sleep(rng.random() * most_seconds)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
                done += 1
                process = start(folder)
    assert process.returncode == 0, (folder / "release.log").read_text()[-3000:]
    return done


def check_books(plan, settings, handle):
    """Caps, ledger and platform agree, and no order was sent twice."""
    campaigns = plan.campaigns
    with opened_guard(settings) as guard:
        handle.advance(handle.now() + timedelta(days=4))  # until the last costs are final
        assert reconcile(guard).failures == ()
        report = guard.platform.read_costs(campaigns.first_day, campaigns.settled_day)
        costs = {(cost.campaign, cost.day): cost.micros for cost in report.costs if cost.micros}
        booked, keys = Counter(), Counter()
        for number in range(campaigns.days):
            day = campaigns.first_day + timedelta(days=number)
            for row in orders_of_day(guard.ledger, guard.account.id, day.isoformat()):
                keys[row.key] += 1
                for transfer in transfers_of(guard, [row]):
                    booked[row.campaign, day] += transfer.posted_micros + transfer.adjusted_micros
        assert {key: micros for key, micros in booked.items() if micros} == costs
        assert max(keys.values()) == 1
        for cap in overview(guard.ledger).caps:
            assert cap.reserved_micros + cap.posted_micros <= cap.limit_micros, cap
        assert verify(guard.ledger).balances
        assert guard.violations.list() == ()
        first = {campaign.name: campaign.daily_micros for campaign in campaigns.campaigns}
        assert {state.campaign: state.daily_micros for state in guard.platform.read_campaigns()} == first
        return sum(costs.values())


def sandbox_release(folder, seed, rng, kills):
    folder.mkdir()
    with running_sandbox(folder / "sandbox", sandbox_options(seed)) as handle:
        plan, settings = prepared(folder, handle, campaigns=CAMPAIGNS, days=DAYS)
        done = run_with_kills(folder, settings, plan.campaigns.name, rng, kills)
        with closing(DecisionBook(book_place(settings), plan.campaigns.name)) as book:
            check_steps(plan, book)
            check_intervals(plan, book)
            decided = decisions(book)
        return decided, done, check_books(plan, settings, handle)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_fifty_kills_change_no_decision_about_a_day(tmp_path):
    seed = 31
    rng = random.Random(seed)  # noqa: S311 - one seed reproduces a failure
    undisturbed, _, spent = sandbox_release(tmp_path / "undisturbed", seed, rng, kills=0)
    done, disturbed, money, number = 0, None, None, 0
    while done < KILLS:
        number += 1
        disturbed, more, money = sandbox_release(tmp_path / f"killed-{number}", seed, rng, kills=KILLS - done)
        assert more
        done += more
        assert disturbed == undisturbed
    print(  # noqa: T201 - the figures; what was read again after a kill may change a bid a little
        f"seed {seed}: {done} kills in {number} releases of {len(undisturbed)} days, {money / 1e6:.2f} spent; without"
        f" kills {spent / 1e6:.2f}"
    )
