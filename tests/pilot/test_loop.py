"""The control loop on a platform double: it decides every hour once, resumes, waits for people, and stops by itself."""

from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import text

from gaelp.authority.mandates import revoke_mandate
from gaelp.budget.ledger import verify
from gaelp.errors import Refused
from gaelp.pilot.decision_book import DecisionBook
from gaelp.pilot.stops import StopRules
from gaelp.platforms.platform import ForeignEdit
from tests.pilot.double_pilot import MIDNIGHT, DoublePilot
from tests.platforms import platform_double as double

DAY = 24


@pytest.fixture
def pilot(tmp_path):
    made = DoublePilot(tmp_path, days=2)
    yield made
    made.door.ledger.close()


@pytest.fixture
def book(pilot):
    with closing(DecisionBook(pilot.folder / "pilot.db", "pilot-1")) as opened:
        yield opened


def statuses(pilot):
    return {name: state.status for name, state in pilot.door.platform.campaigns.items()}


def test_campaigns_are_launched_and_renewed_and_every_hour_is_decided(pilot, book):
    assert pilot.run(until=DAY + 2).how == "interrupted"
    assert [row.interval for row in book.intervals()] == list(range(DAY + 2))
    assert statuses(pilot) == {"spring": "enabled", "summer": "enabled"}
    assert all(state.through == pilot.door.guard.today() for state in pilot.door.platform.campaigns.values())
    assert len(book.decisions()) == 2 * (DAY + 2)
    sent = [note for note in book.orders() if note.word == "sent"]
    assert len(sent) >= 2
    assert {note.word for note in book.orders()} <= {"sent", "same", "small"}
    assert pilot.door.guard.violations.list() == ()
    keys = [key for _, _, key in pilot.door.platform.sent("set_bids", "set_budget", "publish", "enable")]
    assert len(keys) == len(set(keys))


def test_a_pilot_ends_paused_settled_and_in_balance(pilot, book):
    assert pilot.run().how == "finished"
    assert set(statuses(pilot).values()) == {"paused"}
    assert {row.state for row in book.intervals()} == {"decided"}
    assert len(book.intervals()) == 2 * DAY
    assert verify(pilot.door.ledger).balances
    assert [event.kind for event in book.events()] == ["launched", "end"]
    assert pilot.door.guard.violations.list() == ()


def test_a_loop_that_is_started_again_goes_on_where_it_was_and_decides_the_same(tmp_path):
    bids = []
    for name, stops in (("through", [30]), ("resumed", [1, 2, 25, 30])):
        (tmp_path / name).mkdir()
        pilot = DoublePilot(tmp_path / name)
        for until in stops:
            pilot.run(until=until)
        with closing(DecisionBook(pilot.folder / "pilot.db", "pilot-1")) as book:
            bids.append([(each.interval, each.campaign, each.bids_micros, each.order) for each in book.decisions()])
        pilot.door.ledger.close()
    assert bids[0] == bids[1]


def test_hours_that_pass_while_nobody_decides_are_missed_and_reported(pilot, book):
    pilot.run(until=5)
    pilot.traffic.wait_until(MIDNIGHT + timedelta(hours=9), lambda: False)
    pilot.run(until=7)
    assert [(row.interval, row.state) for row in book.intervals()][4:] == [
        (4, "decided"),
        *((hour, "missed") for hour in range(5, 9)),
        (9, "decided"),
        (10, "decided"),
    ]
    [missed] = [event for event in book.events() if event.kind == "missed"]
    assert missed.figures == {"hours": 4}


def test_an_edit_by_somebody_else_holds_the_campaign_until_a_person_decides(pilot, book):
    def edit():
        at = pilot.clock.now()
        pilot.door.platform.edits.append(ForeignEdit("spring", at, "eve@example.com", "update of campaign (status)"))

    pilot.traffic.at_hour[6] = edit
    pilot.run(until=10)
    assert statuses(pilot) == {"spring": "paused", "summer": "enabled"}
    assert "eve@example.com" in book.held()["spring"]
    words = {note.interval: note.word for note in book.orders() if note.campaign == "spring"}
    assert [words[hour] for hour in range(6, 10)] == ["held"] * 4
    book.release("spring", "ann", "eve asked me first", pilot.clock.now())
    pilot.run(until=12)
    assert statuses(pilot) == {"spring": "enabled", "summer": "enabled"}
    assert book.held() == {}


def test_the_record_says_what_was_spent_while_the_loop_runs(pilot, book):
    seen = {}
    for hour in (24, 48):
        pilot.traffic.at_hour[hour] = lambda hour=hour: seen.setdefault(hour, book.money())
    pilot.run(until=50)
    assert [seen[hour].hour for hour in (24, 48)] == [23, 47]
    assert 0 < seen[24].spend_micros < seen[48].spend_micros
    assert 0 < seen[24].clicks < seen[48].clicks


def test_a_campaign_that_a_person_paused_is_not_enabled_again(pilot, book):
    pilot.traffic.at_hour[6] = lambda: pilot.door.platform.pause("spring", key="by hand")
    pilot.run(until=10)
    assert statuses(pilot) == {"spring": "paused", "summer": "enabled"}
    assert list(book.held()) == ["spring"]


def stopped(pilot, book, rule):
    """The pilot has stopped by this rule, and everything is paused."""
    assert book.stop_event.figures["rule"] == rule
    assert set(statuses(pilot).values()) == {"paused"}
    assert any(f"pilot-{rule}" in alert.key for alert in pilot.door.heard.alerts)
    assert pilot.run().how == "stopped"  # starting it again does not set it going


def test_the_kill_switch_stops_the_pilot(pilot, book):
    pilot.traffic.at_hour[5] = lambda: pilot.door.guard.switch.stop(by="ann", reason="enough")
    end = pilot.run(until=20)
    assert (end.how, "enough" in end.why) == ("stopped", True)
    assert len(book.intervals()) == 5
    stopped(pilot, book, "kill-switch")


def test_a_revoked_mandate_stops_the_pilot(pilot, book):
    store = pilot.door.guard.authority.store
    pilot.traffic.at_hour[5] = lambda: revoke_mandate(pilot.door.ledger, store, pilot.mandate, "no more")
    assert pilot.run(until=20).how == "stopped"
    assert book.stop_event.figures["rule"] in ("mandate-ended", "violation")
    assert set(statuses(pilot).values()) == {"paused"}


def test_a_budget_that_somebody_raised_stops_the_pilot(pilot, book):
    pilot.traffic.at_hour[DAY] = lambda: pilot.door.platform.set_budget(
        "spring", 90_000_000, pilot.door.guard.today(), key="by hand"
    )
    assert pilot.run(until=DAY + 5).how == "stopped"
    stopped(pilot, book, "violation")


def test_losses_beyond_the_cap_stop_the_pilot(tmp_path):
    pilot = DoublePilot(tmp_path, loss_cap_micros=15_000_000)
    pilot.traffic.value_share = 0.0
    assert pilot.run().how == "stopped"
    with closing(DecisionBook(pilot.folder / "pilot.db", "pilot-1")) as book:
        figures = book.stop_event.figures
        assert figures["rule"] == "loss-cap"
        assert 15_000_000 < figures["loss_micros"] < 20_000_000
        stopped(pilot, book, "loss-cap")
    pilot.door.ledger.close()


def test_observations_that_training_never_saw_stop_the_pilot(pilot, book):
    pilot.agent = type(pilot.agent)(pilot.agent.policy, pilot.agent.known, pilot.agent.market, lambda _: 0.5)
    assert pilot.run(until=20).how == "stopped"
    assert len(book.intervals()) == 11
    stopped(pilot, book, "out-of-range")


def test_reports_that_stay_away_stop_the_pilot(pilot, book):
    def stale():
        pilot.door.platform.hours_lag = timedelta(hours=30)

    pilot.traffic.at_hour[20] = stale
    rules = StopRules(loss_cap_micros=300_000_000, stale_hours=2)
    assert pilot.run(until=40, stop_rules=rules).how == "stopped"
    assert book.stop_event.figures["rule"] in ("stale-data", "violation")
    assert set(statuses(pilot).values()) == {"paused"}


def test_a_second_driver_of_the_account_is_refused(pilot, book):
    pilot.run(until=3)
    with book.writing() as connection:
        connection.execute(text("INSERT INTO pilot_lease VALUES ('acc', 'run-2', 'elsewhere 12 1.00', 9999999999999)"))
    with pytest.raises(Refused, match="driven by run run-2"):
        pilot.run(until=6)


def test_an_order_that_the_platform_refuses_stops_the_pilot(pilot, book):
    pilot.traffic.at_hour[2] = lambda: pilot.door.platform.faults.extend(["reject"] * 30)
    assert pilot.run(until=DAY).how == "stopped"
    stopped(pilot, book, "refused-action")


def test_an_unknown_outcome_is_neither_repeated_nor_a_reason_to_stop(pilot, book):
    pilot.traffic.at_hour[2] = lambda: pilot.door.platform.faults.extend(["lose answer", "lose call", "delay call"])
    assert pilot.run(until=DAY).how == "interrupted"
    assert {note.word for note in book.orders()} >= {"unknown", "sent"}
    sent = [key for _, _, key in pilot.door.platform.sent("set_bids")]
    assert len(sent) == len(set(sent))
    assert tuple(statuses(pilot)) == double.CAMPAIGNS
