"""What one process tells, the others know; and no trouble with the memory of it silences an alert."""

import fcntl
import io
import json
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest

from gaelp.clock import ManualClock
from gaelp.config.alert_settings import AlertPolicy
from gaelp.errors import BadInput, GaelpError
from gaelp.observability import logs
from gaelp.observability.alert_channels import CallableChannel
from gaelp.observability.alert_memory import FileMemory
from gaelp.observability.alert_table import TableMemory
from gaelp.observability.alerts import Alert, Dispatcher

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
POLICY = AlertPolicy(repeat_after_minutes=60, rate_window_minutes=10, rate_limit=3, escalate_after_minutes=15)

# Sends one alert when it is told to; the channel takes a while, and then writes a line that all can see.
SENDER = """
import os, signal, sys, time
from datetime import UTC, datetime
from pathlib import Path
from gaelp.clock import SystemClock
from gaelp.observability.alert_channels import CallableChannel
from gaelp.observability.alert_memory import FileMemory
from gaelp.observability.alerts import Alert, Dispatcher

folder, dies = Path(sys.argv[1]), sys.argv[2] == "dies"

def take(alert):
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.5)
    with (folder / "taken").open("a") as file:
        file.write(alert.title + "\\n")

dispatcher = Dispatcher([CallableChannel("slow", take)], SystemClock(), memory=FileMemory(folder / "alerts.json"))
print("ready", flush=True)
sys.stdin.readline()
alert = Alert(severity="critical", source="budget", key="k", title="stopped", at=datetime.now(UTC))
print(dispatcher.send(alert).outcome)
"""


def alert(severity="warning", key="k", **changes):
    return Alert(**{"source": "budget", "title": f"about {key}", "at": NOW, **changes}, severity=severity, key=key)


class Desk:
    """One process: a dispatcher over a memory, with a first and a second channel that write down what they got."""

    def __init__(self, memory, clock):
        self.first, self.second, self.works = [], [], True
        self.memory = memory
        channels = [CallableChannel("first", self.take), CallableChannel("second", self.second.append)]
        self.dispatcher = Dispatcher(channels[:1], clock, second=channels[1:], policy=POLICY, memory=self.memory)

    def take(self, taken):
        if not self.works:
            raise OSError("first is down")
        self.first.append(taken)

    def send(self, *args, once=False, **changes):
        return self.dispatcher.send(alert(*args, **changes), once=once).outcome


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "alerts.json"


@pytest.fixture
def clock():
    return ManualClock(NOW)


@pytest.fixture
def desk(request, path, clock):
    """Each call is another process; all use the same file, or for a test ON_BOTH also the same PostgreSQL."""
    if getattr(request, "param", "file") == "file":
        return lambda **options: Desk(FileMemory(path, **options), clock)
    url = request.getfixturevalue("databases").fresh_place("postgres")
    return lambda: Desk(TableMemory(url), clock)


ON_BOTH = pytest.mark.parametrize("desk", ["file", "postgres"], indirect=True)


@pytest.fixture
def logged():
    """The lines of the log so far."""
    stream = io.StringIO()
    logs.configure(format="json", stream=stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def sender(tmp_path):
    """Start a process that is about to send an alert."""
    started = []

    def start(how="lives"):
        words = [sys.executable, "-c", SENDER, str(tmp_path), how]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


# Shared


@ON_BOTH
def test_what_one_has_told_another_does_not_repeat(desk):
    one, other = desk(), desk()
    assert (one.send(), other.send(), one.send()) == ("sent", "duplicate", "duplicate")
    assert (len(one.first), len(other.first)) == (1, 0)


@ON_BOTH
def test_how_often_it_came_again_is_counted_over_all(desk, clock):
    desk().send()
    for _ in range(3):
        desk().send()
    clock.advance(timedelta(minutes=60))
    last = desk()
    assert last.send() == "sent"
    assert last.first[0].context == {"repeats_not_sent": 3}


@ON_BOTH
def test_the_rate_holds_for_all_together_and_one_sums_up_for_all(desk, clock):
    assert [desk().send(key=f"k{number}") for number in range(5)] == ["sent"] * 3 + ["rate_limited"] * 2
    clock.advance(timedelta(minutes=10))
    watch = desk()
    watch.dispatcher.tick()
    assert [(got.title, "about k3\nabout k4" in got.body) for got in watch.first] == [("2 alerts were held back", True)]


@ON_BOTH
def test_what_a_short_lived_one_sent_is_escalated_by_another_once(desk, clock):
    desk().send("critical")
    clock.advance(timedelta(minutes=15))
    watches = [desk(), desk()]
    for watch in watches:
        watch.dispatcher.tick()
    assert [[got.title for got in watch.second] for watch in watches] == [["Unanswered for 15 minutes: about k"], []]


@ON_BOTH
def test_an_answer_given_to_one_holds_for_all(desk, clock):
    desk().send("critical")
    desk().dispatcher.acknowledge("budget", "k")
    clock.advance(timedelta(minutes=15))
    assert desk().dispatcher.tick() == ()
    assert desk().dispatcher.pending == ()
    with pytest.raises(BadInput, match="waiting: none"):
        desk().dispatcher.acknowledge("budget", "k")


@ON_BOTH
def test_all_that_is_remembered_comes_back_as_it_was(desk):
    one = desk()
    one.works = False
    for number in range(3):
        one.send("critical", key=f"k{number}", context={"campaign": "c1"}, body="why")
    one.works = True
    for number in range(5):
        one.send(key=f"w{number}", once=True)
    before = one.memory.look()
    assert before.sent
    assert before.missed
    assert before.held_back
    assert before.pending
    assert desk().memory.look() == before


def test_two_processes_that_send_the_same_alert_at_once_tell_it_once(sender, tmp_path):
    processes = [sender(), sender()]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sorted(process.communicate(timeout=30)[0].strip() for process in processes) == ["duplicate", "sent"]
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "stopped\n"


@ON_BOTH
def test_threads_that_send_the_same_alert_at_once_tell_it_once(desk):
    desks = [desk() for _ in range(4)]
    threads = [threading.Thread(target=desk.send) for desk in desks for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(len(desk.first) for desk in desks) == 1


def test_a_critical_alert_of_a_process_that_is_killed_while_it_goes_out_is_escalated(sender, tmp_path):
    process = sender("dies")
    process.communicate("go\n", timeout=30)
    assert process.returncode == -signal.SIGKILL
    watch = Desk(FileMemory(tmp_path / "alerts.json"), ManualClock(datetime.now(UTC) + timedelta(minutes=15)))
    watch.dispatcher.tick()
    assert [got.title for got in watch.second] == ["Unanswered for 15 minutes: stopped"]
    assert watch.send("critical") == "sent", "nobody was told by the first channel"


# Trouble with the memory


@pytest.mark.parametrize("content", [b"", b"{", b'{"told": 3}', b'{"of": "another version"}', b"\xff\xfe", b"null"])
def test_a_file_that_cannot_be_read_is_kept_aside_and_silences_nothing(desk, path, logged, content):
    path.parent.mkdir()
    path.write_bytes(content)
    assert [desk().send(), desk().send()] == ["sent", "duplicate"]
    assert path.with_name("alerts.broken.json").read_bytes() == content
    assert [line["level"] for line in logged()] == ["error", "error"]
    assert "alerts.json cannot be read" in logged()[0]["reason"]
    assert "alerts.broken.json" in logged()[1]["event"]


def test_who_asks_what_waits_is_told_that_it_cannot_be_read(desk, path):
    path.parent.mkdir()
    path.write_bytes(b"{")
    with pytest.raises(GaelpError, match="cannot be read"):
        _ = desk().dispatcher.pending
    with pytest.raises(GaelpError, match="cannot be read"):
        desk().dispatcher.acknowledge("budget", "k")
    assert path.read_bytes() == b"{"


def test_where_nothing_can_be_written_alerts_go_out_once_and_it_is_logged(desk, path, logged):
    path.parent.write_text("a file where the folder should be", encoding="utf-8")
    one = desk()
    assert [one.send(), one.send(), one.send("critical", key="c")] == ["sent", "duplicate", "sent"]
    events = [line["event"] for line in logged()]
    assert "the record of alerts cannot be locked" in events
    assert "what was alerted is not kept for other processes" in events


def test_what_could_not_be_written_is_written_with_the_next(desk, path, clock):
    path.parent.write_text("in the way", encoding="utf-8")
    one, other = desk(), desk()
    one.send("critical", key="mine")
    path.parent.unlink()
    other.send("critical", key="theirs")
    one.send(key="next")
    assert {waiting.alert.key for waiting in desk().dispatcher.pending} == {"mine", "theirs"}
    clock.advance(timedelta(minutes=15))
    assert len(desk().dispatcher.tick()) == 2


def test_an_answer_that_cannot_be_kept_is_refused(desk, path):
    one = desk()
    one.send("critical")
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.write_text("in the way", encoding="utf-8")
    with pytest.raises(GaelpError, match="cannot be locked"):
        one.dispatcher.acknowledge("budget", "k")
    path.parent.unlink()
    path.parent.with_name("moved").rename(path.parent)
    assert len(desk().dispatcher.pending) == 1


def test_who_holds_the_file_too_long_is_not_waited_for(desk, path, logged):
    one = desk(patience_seconds=0.2)
    one.send(key="before")
    with path.with_name(".alerts.json.held").open("w", encoding="ascii") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert one.send("critical") == "sent"
        assert "held for 0.2 s" in logged()[-1]["reason"]
        with pytest.raises(GaelpError, match=r"held for 0.2 s: try again"):
            one.dispatcher.acknowledge("budget", "k")
    assert one.dispatcher.acknowledge("budget", "k").key == "k"


def test_what_a_clock_set_wrong_put_into_the_future_silences_nothing(path):
    ahead = Desk(FileMemory(path), ManualClock(NOW + timedelta(days=400)))
    for number in range(3):
        ahead.send(key=f"k{number}")
    ahead.send("critical", key="c")
    now = Desk(FileMemory(path), ManualClock(NOW))
    assert [now.send(key="k0"), now.send(key="new")] == ["sent", "sent"]
    now.dispatcher.tick()
    assert len(now.second) == 1, "it waits since a time that has not come: better told now than never"


@ON_BOTH
def test_an_exception_in_the_middle_counts_as_not_told(desk):
    def interrupted(_):
        raise KeyboardInterrupt

    stopped = Dispatcher([CallableChannel("first", interrupted)], ManualClock(NOW), memory=desk().memory)
    with pytest.raises(KeyboardInterrupt):
        stopped.send(alert("critical"))
    after = desk()
    assert len(after.dispatcher.pending) == 1
    assert after.send("critical") == "sent"


def test_the_file_can_be_read_by_others_and_is_never_half_written(desk, path):
    desk().send("critical")
    assert json.loads(path.read_text(encoding="utf-8"))["pending"][0]["alert"]["key"] == "k"
    assert sorted(one.name for one in path.parent.iterdir()) == [".alerts.json.held", "alerts.json"]


# Once, and caught up


@ON_BOTH
def test_what_is_told_once_is_not_told_again_however_long_it_takes(desk, clock):
    assert desk().send(once=True) == "sent"
    clock.advance(timedelta(days=400))
    desk().send(key="other")  # what is too old is forgotten here
    assert desk().send(once=True) == "duplicate"
    assert desk().send("critical") == "sent", "it got worse"


@ON_BOTH
def test_a_channel_that_was_down_gets_what_it_missed_from_whoever_ticks_next(desk):
    one, watch = desk(), desk()
    one.works = False
    assert [one.send("critical", key="a"), one.send(key="b")] == ["sent", "failed"]
    one.dispatcher.tick()
    assert watch.dispatcher.tick() != ()
    assert [got.key for got in watch.first] == ["a", "b"]
    assert watch.dispatcher.tick() == ()


@ON_BOTH
def test_what_a_channel_got_after_all_is_not_caught_up(desk):
    one = desk()
    one.works = False
    one.send()
    one.works = True
    assert one.send() == "sent"
    assert one.dispatcher.tick() == ()
    assert len(one.first) == 1
