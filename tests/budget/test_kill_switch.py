"""Latch, fence and pause each stop on their own; releasing needs authority over exactly the stops in force."""

import os
import threading
import time
from datetime import UTC, datetime

import pytest

from gaelp.budget.kill_switch import Fence, KillSwitch, fence_at
from gaelp.budget.latch import Latch, StopRecord
from gaelp.budget.ledger import open_ledger
from gaelp.clock import ManualClock
from gaelp.errors import GaelpError, Refused


class FenceDouble:
    """A fence in memory."""

    def __init__(self):
        self.record = None

    def lower(self, stop_id):
        if (self.record.id if self.record else "") not in (stop_id, ""):
            return False
        self.record = None
        return True

    def as_fence(self):
        return Fence(lambda: self.record, lambda record: setattr(self, "record", record), self.lower)


def broken(*_):
    raise OSError("gone")


@pytest.fixture
def latch(tmp_path):
    return Latch(tmp_path / "STOPPED")


@pytest.fixture
def fence():
    return FenceDouble()


@pytest.fixture
def paused():
    return []


@pytest.fixture
def switch(latch, fence, paused):
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    return KillSwitch(latch, fence=fence.as_fence(), pause=lambda: paused.append(True), clock=clock)


def outcomes(report):
    return {part.name: part.outcome for part in report.parts}


def test_a_stop_sets_all_three_and_records_who_and_why(switch, latch, fence, paused):
    report = switch.stop(by="ops", reason="drill")
    assert outcomes(report) == {"latch": "done", "fence": "done", "pause": "done"}
    assert latch.read() == fence.record == StopRecord(report.stop_id, "2026-01-01T00:00:00+00:00", "ops", "drill")
    assert paused == [True]
    assert switch.is_stopped()
    assert report.seconds < 1


@pytest.mark.parametrize("down", ["latch", "fence", "pause"])
def test_each_works_if_the_others_are_down(latch, fence, down, monkeypatch):
    if down == "latch":
        monkeypatch.setattr(Latch, "set", broken)
    parts = fence.as_fence() if down != "fence" else Fence(broken, broken, broken)
    switch = KillSwitch(latch, fence=parts, pause=broken if down == "pause" else lambda: None)
    report = switch.stop(by="ops", reason="drill")
    assert outcomes(report) == {name: "failed" if name == down else "done" for name in ("latch", "fence", "pause")}
    assert switch.is_stopped()


def test_when_nothing_could_be_set_it_shouts(latch, monkeypatch):
    monkeypatch.setattr(Latch, "set", broken)
    switch = KillSwitch(latch, fence=Fence(broken, broken, broken), pause=lambda: None)
    with pytest.raises(GaelpError, match=r"NOT STOPPED \(latch: failed OSError: gone; fence: failed"):
        switch.stop(by="ops", reason="drill")


def test_a_home_that_is_not_there_is_no_stop(tmp_path):
    switch = KillSwitch(Latch(tmp_path / "typo" / "STOPPED"))
    with pytest.raises(GaelpError, match=r"NOT STOPPED \(latch: failed there is no folder"):
        switch.stop(by="ops", reason="drill")
    assert not (tmp_path / "typo").exists()


def test_a_fence_that_is_merely_slow_stops_in_the_end_where_the_latch_cannot(tmp_path, fence):
    held = threading.Event()

    def slow(record):
        held.wait(20)
        fence.record = record

    switch = KillSwitch(
        Latch(tmp_path / "typo" / "STOPPED"), fence=Fence(lambda: fence.record, slow, fence.lower), pause=lambda: None
    )
    first = switch.begin(by="ops", reason="drill")
    assert (first.stopped, first.is_trying) == (False, True)
    held.set()
    assert (switch.wait(10).stopped, fence.record.id) == (True, first.stop_id)


def test_a_latch_that_is_there_but_not_yet_on_the_disk_stops(latch, monkeypatch):
    held = threading.Event()
    monkeypatch.setattr("gaelp.budget.latch._sync_folder", lambda _: held.wait(20))
    report = KillSwitch(latch).stop(by="ops", reason="drill")
    assert (report.outcome("latch"), report.stopped) == ("still trying", True)
    held.set()


def test_a_disk_that_hangs_holds_up_neither_the_report_nor_the_fence(latch, fence, monkeypatch):
    held = threading.Event()

    def hang(*_):
        held.wait(20)
        raise OSError("gone")

    monkeypatch.setattr(os, "open", hang)
    monkeypatch.setattr(os, "lstat", hang)
    switch = KillSwitch(latch, fence=Fence(lambda: None, lambda _: time.sleep(0.5), fence.lower))
    first = switch.begin(by="ops", reason="drill")
    assert (first.stopped, first.outcome("latch")) == (False, "still trying")
    later = switch.wait(0.8)
    monkeypatch.undo()
    held.set()
    assert (later.stopped, later.complete, later.outcome("fence")) == (True, False, "done")


@pytest.mark.parametrize("down", ["latch", "fence", "pause"])
def test_a_stop_is_complete_only_if_every_part_that_is_connected_is_done(latch, fence, down, monkeypatch):
    assert KillSwitch(latch).stop(by="ops", reason="drill").complete
    if down == "latch":
        monkeypatch.setattr(Latch, "set", broken)
    parts = fence.as_fence() if down != "fence" else Fence(broken, broken, broken)
    switch = KillSwitch(latch, fence=parts, pause=broken if down == "pause" else lambda: None)
    assert not switch.stop(by="ops", reason="drill").complete


def test_a_database_that_is_away_is_not_reported_as_if_nothing_were_granted(latch):
    nobody = "postgresql://gaelp@127.0.0.1:1/gaelp"
    switch = KillSwitch(latch, fence=fence_at(lambda: open_ledger(nobody, latch)))
    switch.begin(by="ops", reason="drill")
    [failed] = [part for part in switch.wait(20).parts if part.name == "fence"]
    assert failed.outcome == "failed"
    assert "the ledger's database did not take it" in failed.detail
    assert "no money is granted" not in failed.detail


def test_a_reason_that_no_record_can_hold_is_cut_to_one_that_can_be_read(switch, latch):
    switch.stop(by="ops", reason="x" * 120_000 + "\ud800")
    assert len(latch.read().reason) == 2000


def test_a_machine_out_of_threads_still_stops(switch, latch, fence, monkeypatch):
    def no_thread(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert set(outcomes(switch.stop(by="ops", reason="drill")).values()) == {"done"}
    assert latch.is_set()
    assert fence.record is not None


@pytest.mark.parametrize("stuck", ["fence", "pause"])
def test_a_part_that_hangs_holds_up_neither_the_stop_nor_the_others(latch, fence, stuck):
    held = threading.Event()

    def hang(*_):
        held.wait(20)

    parts = Fence(lambda: None, hang, broken) if stuck == "fence" else fence.as_fence()
    switch = KillSwitch(latch, fence=parts, pause=hang if stuck == "pause" else lambda: None)
    began = time.monotonic()
    report = switch.stop(by="ops", reason="drill")
    assert time.monotonic() - began < 1
    assert report.outcome(stuck) == "still trying"
    assert {each for name, each in outcomes(report).items() if name != stuck} == {"done"}
    held.set()
    later = switch.wait(10)  # it continues in the background
    assert (set(outcomes(later).values()), later.complete, report.complete) == ({"done"}, True, False)


def test_a_fence_that_cannot_be_read_counts_as_stopped(latch):
    assert KillSwitch(latch, fence=Fence(broken, broken, broken)).is_stopped()
    assert not KillSwitch(latch).is_stopped()


def test_a_release_is_shown_the_stop_and_allows_spending_again(switch, latch, fence):
    report, actual = switch.stop(by="ops", reason="drill"), []
    switch.release(actual.append)
    assert [state.stop_ids for state in actual] == [(report.stop_id,)]
    assert not switch.is_stopped()
    assert (latch.is_set(), fence.record) == (False, None)


def test_without_authority_it_stays_stopped(switch):
    switch.stop(by="ops", reason="drill")

    def refuse(_state):
        raise Refused("not signed")

    with pytest.raises(Refused, match="not signed"):
        switch.release(refuse)
    assert switch.is_stopped()


def test_nothing_is_asked_where_nothing_is_stopped(switch):
    assert switch.release(broken).stop_ids == ()


def test_a_stop_made_while_another_is_released_stays_in_force(switch, latch, fence):
    switch.stop(by="ops", reason="first")
    second = []
    with pytest.raises(GaelpError, match="another stop"):
        switch.release(lambda _: second.append(switch.stop(by="rules", reason="second")))
    assert switch.state().stop_ids == (second[0].stop_id,)


def test_a_stop_that_only_reached_the_latch_stays_in_force_too(latch, fence):
    switch = KillSwitch(latch, fence=fence.as_fence())
    switch.stop(by="ops", reason="first")
    with pytest.raises(GaelpError, match="approve its release"):
        switch.release(lambda _: KillSwitch(latch).stop(by="rules", reason="second"))
    assert latch.is_set()


def test_with_the_database_away_the_latch_stays(switch, latch, fence):
    switch.stop(by="ops", reason="drill")
    away = KillSwitch(latch, fence=Fence(lambda: fence.record, broken, broken))
    with pytest.raises(OSError, match="gone"):
        away.release(lambda _: None)
    assert latch.is_set()


def test_a_release_that_crosses_a_stop_does_not_take_its_latch(latch):
    """The latch is taken away between setting it and the end of the stop."""
    gone = []

    def take_away(_record):
        while not latch.is_set():
            time.sleep(0.001)
        latch.path.unlink()
        gone.append(True)

    switch = KillSwitch(latch, fence=Fence(lambda: None, take_away, lambda _: True))
    switch.stop(by="ops", reason="drill")
    assert gone == [True]
    assert latch.is_set()
