"""Alerts reach people once, not too often, and a critical one until it is answered."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr, ValidationError

from gaelp.clock import ManualClock
from gaelp.config.alert_settings import AlertPolicy
from gaelp.errors import BadInput
from gaelp.observability.alert_channels import CallableChannel
from gaelp.observability.alerts import Alert, Dispatcher, PendingAlert
from gaelp.observability.redact import MASK, register_secrets

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
POLICY = AlertPolicy(repeat_after_minutes=60, rate_window_minutes=10, rate_limit=3, escalate_after_minutes=15)


def alert(severity="warning", key="day-spend-80/c1", **changes):
    values = {"source": "budget", "title": "80% of the day's cap is spent", "at": NOW}
    return Alert(**{**values, "severity": severity, "key": key, **changes})


class Desk:
    """A dispatcher with one first and one second channel that write down what they got, and a clock."""

    def __init__(self, *, first_works=True, second_works=True, pending=()):
        self.clock = ManualClock(NOW)
        self.first, self.second = [], []
        self.works = {"first": first_works, "second": second_works}
        channels = [CallableChannel(name, self.taker(name)) for name in ("first", "second")]
        self.dispatcher = Dispatcher(channels[:1], self.clock, second=channels[1:], policy=POLICY, pending=pending)

    def taker(self, name):
        def take(taken):
            if not self.works[name]:
                raise OSError(f"{name} is down")
            getattr(self, name).append(taken)

        return take

    def later(self, minutes):
        self.clock.advance(timedelta(minutes=minutes))
        return self


def test_an_alert_reaches_the_first_channel_only():
    desk = Desk()
    assert desk.dispatcher.send(alert()).reached == ("first",)
    assert (len(desk.first), len(desk.second)) == (1, 0)


def test_the_same_alert_is_told_once_until_the_time_to_repeat_it():
    desk = Desk()
    outcomes = [desk.dispatcher.send(alert()).outcome for _ in range(3)]
    assert outcomes == ["sent", "duplicate", "duplicate"]
    assert desk.later(59).dispatcher.send(alert()).outcome == "duplicate"
    assert desk.later(1).dispatcher.send(alert()).outcome == "sent"
    assert [taken.context for taken in desk.first] == [{}, {"repeats_not_sent": 3}]


def test_another_key_or_source_is_another_alert():
    desk = Desk()
    for sent in (alert(), alert(key="other"), alert(source="content")):
        assert desk.dispatcher.send(sent).outcome == "sent"


def test_an_alert_that_got_worse_is_told_at_once():
    desk = Desk()
    assert [desk.dispatcher.send(alert(severity)).outcome for severity in ("warning", "critical", "warning")] == [
        "sent", "sent", "duplicate",
    ]  # fmt: skip


def test_beyond_the_rate_alerts_are_summed_up_in_one_that_names_them():
    desk = Desk()
    outcomes = [desk.dispatcher.send(alert(key=f"k{n}", title=f"alert {n}")).outcome for n in range(5)]
    assert outcomes == ["sent"] * 3 + ["rate_limited"] * 2
    assert desk.dispatcher.tick() == ()
    assert desk.later(10).dispatcher.tick()[0].outcome == "sent"
    assert desk.first[-1].title == "2 alerts were held back"
    assert "alert 3\nalert 4" in desk.first[-1].body
    assert desk.dispatcher.tick() == ()


def test_what_the_rate_held_back_is_not_taken_for_told():
    desk = Desk()
    for number in range(4):
        desk.dispatcher.send(alert(key=f"k{number}"))
    assert desk.later(10).dispatcher.send(alert(key="k3")).outcome == "sent"


def test_a_critical_alert_is_never_held_back_by_the_rate():
    desk = Desk()
    assert {desk.dispatcher.send(alert("critical", key=f"k{n}")).outcome for n in range(20)} == {"sent"}


def test_an_unanswered_critical_alert_goes_to_the_second_channel_once():
    desk = Desk()
    desk.dispatcher.send(alert("critical"))
    desk.later(14.9).dispatcher.tick()
    assert desk.second == []
    desk.later(0.1).dispatcher.tick()
    desk.later(30).dispatcher.tick()
    assert [taken.title for taken in desk.second] == ["Unanswered for 15 minutes: 80% of the day's cap is spent"]


def test_an_answered_one_is_not_escalated():
    desk = Desk()
    desk.dispatcher.send(alert("critical"))
    assert desk.dispatcher.acknowledge("budget", "day-spend-80/c1").severity == "critical"
    assert desk.later(60).dispatcher.tick() == ()
    with pytest.raises(BadInput, match="no alert budget/day-spend-80/c1 waits"):
        desk.dispatcher.acknowledge("budget", "day-spend-80/c1")


def test_what_comes_again_after_an_answer_is_told_again():
    desk = Desk()
    assert [desk.dispatcher.send(alert("critical")).outcome for _ in range(2)] == ["sent", "duplicate"]
    desk.dispatcher.acknowledge("budget", "day-spend-80/c1")
    assert [desk.dispatcher.send(alert("critical")).outcome for _ in range(2)] == ["sent", "duplicate"]
    desk.later(15).dispatcher.tick()
    assert len(desk.second) == 1


def test_what_is_told_once_and_for_all_stays_told_after_an_answer():
    desk = Desk()
    desk.dispatcher.send(alert("critical"), once=True)
    desk.dispatcher.acknowledge("budget", "day-spend-80/c1")
    assert desk.dispatcher.send(alert("critical"), once=True).outcome == "duplicate"


def test_a_lasting_trouble_is_told_at_growing_intervals_counted_and_waits_since_the_first():
    desk = Desk()
    for _ in range(3):
        desk.dispatcher.send(alert("critical"), lasting=True)
        desk.later(5)
    desk.dispatcher.tick()
    assert [taken.context.get("repeats_not_sent") for taken in desk.first] == [None, 1]
    assert [taken.title.split(":")[0] for taken in desk.second] == ["Unanswered for 15 minutes"]
    desk.later(15).dispatcher.send(alert("critical"), lasting=True)
    desk.later(15).dispatcher.tick()
    assert len(desk.second) == 2, "it came again after it went further, and nobody answered that"


def test_a_trouble_that_lasts_ten_days_is_a_dozen_alerts_and_not_one_for_each_look():
    desk = Desk()
    looks = 10 * 24 * 6
    for _ in range(looks):
        desk.dispatcher.send(alert("critical"), lasting=True)
        desk.later(10)
    longest = POLICY.repeat_after_minutes
    told = len(desk.first)
    assert told <= 10 * 24 * 60 / longest + 4
    seen = told + sum(taken.context.get("repeats_not_sent", 0) for taken in desk.first)
    assert looks - longest / 10 <= seen <= looks


def test_how_often_it_came_again_is_known_of_what_waits():
    desk = Desk()
    desk.dispatcher.send(alert("critical"))
    desk.dispatcher.send(alert("critical"))
    desk.later(10).dispatcher.send(alert("critical"), lasting=True)
    assert [waiting.repeats for waiting in desk.dispatcher.pending] == [2]


@pytest.mark.parametrize("severity", ["info", "warning"])
def test_what_is_not_critical_is_not_escalated(severity):
    desk = Desk()
    desk.dispatcher.send(alert(severity))
    assert desk.later(600).dispatcher.tick() == ()


def test_an_escalation_that_fails_is_tried_again():
    desk = Desk(second_works=False)
    desk.dispatcher.send(alert("critical"))
    assert desk.later(15).dispatcher.tick()[0].outcome == "failed"
    desk.works["second"] = True
    assert desk.later(1).dispatcher.tick()[0].reached == ("second",)


def test_what_waits_for_an_answer_survives_a_restart():
    desk = Desk()
    desk.dispatcher.send(alert("critical"))
    stored = [waiting.model_dump_json() for waiting in desk.dispatcher.pending]
    after = Desk(pending=[PendingAlert.model_validate_json(text) for text in stored])
    after.later(15).dispatcher.tick()
    assert len(after.second) == 1


def test_a_channel_that_fails_does_not_stop_the_others_and_is_reported_to_them():
    clock, taken = ManualClock(NOW), []
    broken = CallableChannel("broken", lambda _: 1 / 0)
    dispatcher = Dispatcher([broken, CallableChannel("works", taken.append)], clock)
    delivery = dispatcher.send(alert())
    assert (delivery.outcome, delivery.reached) == ("sent", ("works",))
    assert delivery.failed == {"broken": "ZeroDivisionError: division by zero"}
    assert [(got.source, got.key) for got in taken] == [("budget", "day-spend-80/c1"), ("alerts", "channel-broken")]
    dispatcher.send(alert(key="next"))
    assert len(taken) == 3  # the broken channel is not reported again


def test_a_critical_alert_that_nobody_heard_goes_to_the_second_channel_at_once():
    desk = Desk(first_works=False)
    delivery = desk.dispatcher.send(alert("critical"))
    assert (delivery.outcome, delivery.reached) == ("sent", ("second",))
    assert [got.key for got in desk.second] == ["day-spend-80/c1", "channel-first"]
    assert desk.later(15).dispatcher.tick() == ()


@pytest.mark.parametrize("severity", ["warning", "critical"])
def test_a_record_is_nobody_where_there_is_a_channel_to_people(severity):
    logged, told = [], []
    records = [CallableChannel("log", logged.append), CallableChannel("event", logged.append)]
    people = CallableChannel("people", lambda _: 1 / 0, is_record=False)
    second = CallableChannel("second", told.append, is_record=False)
    dispatcher = Dispatcher([*records, people], ManualClock(NOW), second=[second])
    delivery = dispatcher.send(alert(severity))
    assert delivery.outcome == ("sent" if severity == "critical" else "failed")
    assert [got.key for got in told if got.source == "budget"] == ["day-spend-80/c1"] * (severity == "critical")


def test_where_there_are_only_records_they_count():
    told = []
    second = CallableChannel("second", told.append, is_record=False)
    dispatcher = Dispatcher([CallableChannel("log", print)], ManualClock(NOW), second=[second])
    assert dispatcher.send(alert("critical")).reached == ("log",)
    assert told == []


def test_an_alert_that_reached_nobody_is_no_duplicate_the_next_time():
    desk = Desk(first_works=False)
    assert desk.dispatcher.send(alert()).outcome == "failed"
    desk.works["first"] = True
    assert desk.dispatcher.send(alert()).outcome == "sent"


def test_no_channel_sees_a_secret():
    register_secrets(["hunter2-hunter2"])
    taken = alert(
        title="cannot log in with hunter2-hunter2",
        body="GET /?access_token=abc123",
        context={"api_key": "k-1", "deep": [{"password": SecretStr("x")}, "hunter2-hunter2"]},
    )
    text = taken.model_dump_json()
    assert not [secret for secret in ("hunter2", "abc123", "k-1") if secret in text]
    assert taken.context == {"api_key": MASK, "deep": [{"password": MASK}, MASK]}


def test_what_a_failing_channel_raised_is_told_without_its_secrets():
    register_secrets(["hunter2-hunter2"])

    def refuse(_):
        raise OSError("login hunter2-hunter2 refused")

    delivery = Dispatcher([CallableChannel("mail", refuse)], ManualClock(NOW)).send(alert())
    assert delivery.failed == {"mail": f"OSError: login {MASK} refused"}


def test_a_title_is_one_line():
    assert alert(title="a\r\nBcc: all@example.com").title == "a Bcc: all@example.com"


def test_an_alert_without_time_zone_is_refused():
    with pytest.raises(ValidationError):
        alert(at=NOW.replace(tzinfo=None))


@pytest.mark.parametrize("names", [[], ["one", "one"]])
def test_a_dispatcher_needs_channels_with_names_of_their_own(names):
    with pytest.raises(BadInput, match="at least one, and each its own name"):
        Dispatcher([CallableChannel(name, print) for name in names], ManualClock(NOW))
