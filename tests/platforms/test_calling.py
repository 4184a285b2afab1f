"""Whatever a platform answers or raises is one of three outcomes, and no secret is in it."""

import pytest

from gaelp.observability import MASK, register_secrets
from gaelp.platforms import Done, Rejected, Unknown, find_order, guarded, pause
from gaelp.platforms.calling import attempt

SECRET = "https://hooks.example/T0/B1/planted-in-a-platform"


@pytest.mark.parametrize("answer", [None, "ok", True, {"status": 200}, Done])
def test_an_answer_that_makes_no_sense_is_unknown(answer):
    outcome = attempt(lambda: answer)
    assert isinstance(outcome, Unknown)
    assert "not an outcome" in outcome.detail


@pytest.mark.parametrize("answer", [Done(), Rejected("policy"), Unknown("no answer in time")])
def test_an_outcome_is_passed_on(answer):
    assert attempt(lambda: answer) == answer


@pytest.mark.parametrize("kind", [Rejected, Unknown])
def test_no_outcome_holds_a_secret(kind):
    register_secrets([SECRET])
    assert attempt(lambda: kind(f"POST {SECRET} failed")) == kind(f"POST {MASK} failed")


def test_what_is_raised_is_unknown_and_holds_no_secret():
    def call():
        raise OSError(f"no route to {SECRET}")

    register_secrets([SECRET])
    assert attempt(call) == Unknown(f"OSError: no route to {MASK}")


def test_an_order_that_is_answered_with_nonsense_keeps_its_room_and_is_reported(door, double):
    assert guarded(door.guard, double.approve(door, double.order())) == Done()
    door.platform.publish = lambda *_, **__: None
    outcome = guarded(door.guard, double.approve(door, double.order("p1", "publish")))
    assert isinstance(outcome, Unknown)
    assert door.heard.rules == ["outcome-unknown"]
    assert find_order(door.ledger, "p1").outcome == ""


def test_an_order_that_is_looked_up_with_nonsense_stays_unknown(door, double):
    door.platform.faults.append("lose answer")
    each = double.approve(door, double.order())
    guarded(door.guard, each)
    door.platform.look_up = lambda _: "done"
    assert isinstance(guarded(door.guard, each), Unknown)
    assert find_order(door.ledger, "b1").outcome == ""


def test_a_pause_that_is_answered_with_nonsense_is_tried_again(door, double):
    answers = [None, "ok", Done()]
    door.platform.pause = lambda *_, **__: answers.pop(0)
    assert pause(door.platform, "spring") == Done()
    assert answers == []
