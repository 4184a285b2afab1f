"""Whatever a platform raises, everything that can be paused is, each is tried three times, and no secret is printed."""

import asyncio
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import date

import pytest

from gaelp.checks.raised import in_words
from gaelp.errors import GaelpError, Refused
from gaelp.observability import MASK, register_secrets
from gaelp.platforms import CampaignState, Done, Unknown, guarded, pause_all, reconcile
from gaelp.platforms.calling import attempt

DAY = date(2026, 11, 16)
NAMES = tuple(f"c{number}" for number in range(20))
SECRET = "https://hooks.example/T0/B1/planted-in-what-is-raised"

KILLS_WORKERS = """
import asyncio, sys
from gaelp.errors import GaelpError
from gaelp.platforms import Done, pause_all

class Platform:
    def read_campaigns(self):
        return ()
    def pause(self, campaign, *, key):
        raise asyncio.CancelledError("Authorization: Bearer abcdefgh12345678")

try:
    pause_all(Platform(), [f"c{number}" for number in range(20)])
except GaelpError as error:
    sys.stdout.write(str(error))
"""


class Mute(Exception):
    """Cannot say what it is."""

    def __str__(self):
        raise ValueError("no words")


class Unprintable:
    def __repr__(self):
        raise asyncio.CancelledError


RAISED = [asyncio.CancelledError, GeneratorExit, Mute]


class Raises:
    """A platform where pausing some campaigns raises."""

    def __init__(self, error, fails):
        self.error, self.fails, self.paused, self.calls, self.lock = error, fails, set(), [], threading.Lock()

    def read_campaigns(self):
        return ()

    def pause(self, campaign, *, key):
        with self.lock:
            self.calls.append(campaign)
        if campaign in self.fails:
            raise self.error
        self.paused.add(campaign)
        return Done()


@pytest.mark.parametrize("error", RAISED)
def test_each_is_tried_three_times_and_all_others_are_paused(error):
    platform = Raises(error, NAMES[:9])
    with pytest.raises(GaelpError, match=r"c0: .*c8: .*by hand, now"):
        pause_all(platform, NAMES)
    assert platform.paused == set(NAMES[9:])
    assert {platform.calls.count(name) for name in NAMES[:9]} == {3}


@pytest.mark.parametrize("error", RAISED)
def test_a_list_that_cannot_be_read_keeps_none_of_the_known_running(error):
    platform = Raises(error, ())

    def fail():
        raise error

    platform.read_campaigns = fail
    with pytest.raises(GaelpError, match="list of campaigns could not be read"):
        pause_all(platform, NAMES)
    assert platform.paused == set(NAMES)


def test_an_entry_that_cannot_be_asked_is_paused_or_reported():
    class Entry:
        campaign = "a"

        @property
        def status(self):
            raise asyncio.CancelledError

    platform = Raises(Mute, ())
    platform.read_campaigns = lambda: (Entry(), CampaignState("b", Unprintable(), 1, DAY), Unprintable())
    with pytest.raises(GaelpError, match="without a campaign's name"):
        pause_all(platform)
    assert platform.paused == {"a", "b"}


def test_no_thread_dies_with_a_traceback_that_shows_a_secret():
    ended = subprocess.run(
        [sys.executable, "-c", KILLS_WORKERS], capture_output=True, text=True, timeout=60, check=True
    )
    assert (ended.stderr, "abcdefgh" in ended.stdout) == ("", False)
    assert all(f"c{number}: " in ended.stdout for number in range(20))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_does_so_in_the_main_thread_alone(error):
    def call():
        raise error

    with pytest.raises(error):
        attempt(call)
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(attempt(call)))
    thread.start()
    thread.join()
    assert outcomes == [Unknown(f"{error.__name__}: ")]


def test_words_can_always_be_made_and_hold_no_secret():
    register_secrets([SECRET])
    assert in_words(asyncio.CancelledError(f"POST {SECRET}")) == f"CancelledError: POST {MASK}"
    assert in_words(Mute()) == "[a Mute that cannot be printed]"
    assert "Unprintable" in attempt(Unprintable).detail


@pytest.mark.parametrize("error", RAISED)
def test_an_order_whose_call_raises_is_unknown_and_its_look_up_too(door, double, error):
    def fail(*_, **__):
        raise error

    door.platform.set_budget = door.platform.look_up = fail
    each = double.approve(door, double.order())
    for _ in range(2):
        assert isinstance(guarded(door.guard, each), Unknown)


@pytest.mark.parametrize("error", RAISED)
def test_what_raises_when_it_is_read_back_is_paused(door, double, error):
    def fail():
        raise error

    assert guarded(door.guard, double.approve(door, double.order())) == Done()
    real, door.platform.read_campaigns = door.platform.read_campaigns, fail
    with pytest.raises(Refused, match="could not be read back"):
        guarded(door.guard, double.approve(door, double.order("e1", "enable")))
    assert real()[0].status == "paused"


@pytest.mark.parametrize("error", RAISED)
def test_a_part_of_reconcile_that_raises_keeps_no_other_from_being_done(door, error):
    def fail(*_, **__):
        raise error

    for name in ("a", "b", "c"):
        door.platform.set_budget(name, 1_000_000, DAY, key=f"{name} by hand")
        door.platform.enable(name, key=f"{name} by hand too")
    real = door.platform.pause
    door.platform.pause = lambda campaign, *, key: fail() if campaign == "a" else real(campaign, key=key)
    door.platform.read_costs = fail
    result = reconcile(door.guard)
    assert result.paused == ("b", "c")
    assert ["DID NOT SUCCEED" in each or "booking costs" in each for each in result.failures] == [True, True]


def test_a_status_that_cannot_be_printed_is_paused_while_stopped(door, double):
    for each in (double.order(), double.order("e1", "enable")):
        assert guarded(door.guard, double.approve(door, each)) == Done()
    door.guard.switch.stop(by="ann", reason="drill")
    door.platform.enable("spring", key="late")
    real = door.platform.read_campaigns
    door.platform.read_campaigns = lambda: tuple(replace(each, status=Unprintable()) for each in real())
    assert reconcile(door.guard).paused == ("spring",)
