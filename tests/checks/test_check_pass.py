"""One pass over many checks: each failure is recorded and reported, and keeps no other check from running."""

import asyncio
import threading
from functools import partial

import pytest

from gaelp.checks import CheckPass
from gaelp.observability import MASK, register_secrets

SECRET = "planted-in-what-a-check-raises"


class Heard(list):
    """What people were told, and how telling them ends."""

    def __init__(self, answer=None):
        super().__init__()
        self.answer = answer

    def __call__(self, part, what):
        self.append((part, what))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def a_pass(heard):
    return CheckPass(heard, failure_text="{part} failed ({problem}): fix that")


def run(checks, *names):
    done = []
    for name in names:
        with checks.part(name):
            done.append(name)
            if name.startswith("bad"):
                raise ValueError(name)
    return done


def test_a_part_that_fails_is_recorded_and_the_others_run():
    heard = Heard()
    checks = a_pass(heard)
    assert run(checks, "first", "bad one", "second", "bad two") == ["first", "bad one", "second", "bad two"]
    texts = ["bad one failed (ValueError: bad one): fix that", "bad two failed (ValueError: bad two): fix that"]
    assert (checks.failures, heard) == (texts, [])
    checks.report_all()
    assert heard == [("bad one", texts[0]), ("bad two", texts[1])]
    checks.report_all()
    assert len(heard) == 2, "each failure is reported once"


def test_no_secret_is_reported():
    register_secrets([SECRET])
    checks = a_pass(Heard())
    with checks.part("asking"):
        raise ValueError(f"POST {SECRET}")
    assert checks.failures == [f"asking failed (ValueError: POST {MASK}): fix that"]


@pytest.mark.parametrize("answer", ["no channel took it", RuntimeError("down")])
def test_a_report_that_fails_is_a_failure_and_holds_up_no_other(answer):
    heard = Heard(answer)
    checks = a_pass(heard)
    run(checks, "bad one", "bad two")
    checks.report_all()
    assert [part for part, _ in heard] == ["bad one", "bad two"]
    assert len(checks.failures) == 4
    assert all("no channel took it" in text or "RuntimeError: down" in text for text in checks.failures[2:])


def test_reports_are_made_in_order_and_the_most_urgent_first():
    order = []
    checks = a_pass(Heard())
    checks.report_later(partial(order.append, "paused"))
    checks.report_later(partial(order.append, "rules"))
    checks.report_later(partial(order.append, "stopped"), first=True)
    checks.report_all()
    assert (order, checks.failures) == (["stopped", "paused", "rules"], [])


def test_what_is_added_while_reporting_is_reported_too():
    heard = Heard()
    checks = a_pass(heard)
    checks.report_later(lambda: checks.fail("later"))
    checks.report_all()
    assert heard == [("", "later")]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_ends_the_pass(error):
    checks = a_pass(Heard())
    with pytest.raises(error), checks.part("waiting"):
        raise error
    assert checks.failures == []


def test_a_pass_over_a_platform_outlives_whatever_its_connector_raises():
    class OverPlatform(CheckPass):
        caught = BaseException

    checks = OverPlatform(Heard(), failure_text="{part}: {problem}")
    with checks.part("booking"):
        raise asyncio.CancelledError
    worker = threading.Thread(target=run_in_thread, args=(checks,))
    worker.start()
    worker.join()
    assert checks.failures == ["booking: CancelledError: ", "in a thread: SystemExit: 1"]
    with pytest.raises(asyncio.CancelledError), a_pass(Heard()).part("booking"):
        raise asyncio.CancelledError


def run_in_thread(checks):
    with checks.part("in a thread"):
        raise SystemExit(1)
