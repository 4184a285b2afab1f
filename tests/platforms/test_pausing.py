"""Everything is paused side by side: what is slow, fails or hangs keeps nothing else running."""

import subprocess
import sys
import threading
import time
from datetime import date

import pytest

from gaelp.errors import GaelpError
from gaelp.platforms import CampaignState, Done, Unknown, pause_all

NAMES = tuple(f"c{number}" for number in range(12))

HANGS = """
import sys, threading, time
from gaelp.platforms import Done, pause_all

class Platform:
    def read_campaigns(self):
        return ()
    def pause(self, campaign, *, key):
        if campaign == "hangs":
            threading.Event().wait()
        sys.stdout.write(f"{campaign}\\n")
        sys.stdout.flush()
        return Done()

stop = threading.Thread(target=pause_all, args=(Platform(), ["hangs", "b", "c"]), daemon=True)
stop.start()
time.sleep(1)
"""


class Slow:
    """A platform where each pause takes its time; it notes how many were under way at once."""

    def __init__(self, seconds=0.0, fails=()):
        self.seconds, self.fails, self.lock = seconds, fails, threading.Lock()
        self.under_way, self.most, self.paused, self.calls = 0, 0, set(), []

    def read_campaigns(self):
        return ()

    def pause(self, campaign, *, key):
        with self.lock:
            self.calls.append(campaign)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        time.sleep(self.seconds)
        with self.lock:
            self.under_way -= 1
        if campaign in self.fails:
            raise OSError("no answer")
        self.paused.add(campaign)
        return Done()


def test_slow_campaigns_are_paused_side_by_side_and_not_too_many_at_once():
    platform, began = Slow(seconds=0.3), time.monotonic()
    pause_all(platform, NAMES)
    assert time.monotonic() - began < 0.3 * len(NAMES) / 2
    assert (platform.paused, 1 < platform.most <= 8) == (set(NAMES), True)
    assert len(platform.calls) == len(NAMES)


def test_each_that_fails_is_tried_three_times_and_named_and_the_others_are_paused():
    platform = Slow(fails=("c3", "c7"))
    with pytest.raises(GaelpError) as failure:
        pause_all(platform, NAMES)
    assert platform.paused == set(NAMES) - {"c3", "c7"}
    assert [platform.calls.count(name) for name in ("c3", "c7")] == [3, 3]
    assert all(f"{name}: {Unknown('OSError: no answer')}" in str(failure.value) for name in ("c3", "c7"))


def test_one_that_hangs_keeps_neither_the_others_nor_the_process():
    ended = subprocess.run([sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=60, check=True)
    assert sorted(ended.stdout.split()) == ["b", "c"]


def test_a_machine_out_of_threads_still_pauses(monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    platform = Slow()
    pause_all(platform, NAMES)
    assert platform.paused == set(NAMES)


@pytest.mark.parametrize("word", ["ENABLED", "limited", "learning", "", None])
def test_whatever_is_not_known_to_be_paused_is_paused(word):
    platform = Slow()
    listed = [CampaignState(name, word, 1, date(2026, 11, 16)) for name in NAMES]
    platform.read_campaigns = lambda: (*listed, CampaignState("still", "paused", 1, date(2026, 11, 16)))
    pause_all(platform)
    assert platform.paused == set(NAMES)


@pytest.mark.parametrize("entry", [None, {}, CampaignState(None, "enabled", 1, date(2026, 11, 16))])
def test_what_has_no_name_is_reported_and_keeps_none_of_the_others_running(entry):
    platform = Slow()
    platform.read_campaigns = lambda: (entry, CampaignState("a", "enabled", 1, date(2026, 11, 16)))
    with pytest.raises(GaelpError, match=r"without a campaign's name.*by hand, now"):
        pause_all(platform)
    assert platform.paused == {"a"}


def test_without_campaigns_nothing_is_to_be_done():
    pause_all(Slow())
