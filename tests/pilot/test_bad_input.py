"""A pilot that differs from what people signed, or whose mandate is over, ends before anything is sent."""

from contextlib import closing
from datetime import timedelta

import pytest

from gaelp.pilot.decision_book import DecisionBook
from gaelp.pilot.pilot_plan import pilot_mandate
from tests.pilot.double_pilot import DoublePilot
from tests.platforms import platform_double as double


@pytest.fixture
def pilot(tmp_path):
    made = DoublePilot(tmp_path)
    yield made
    made.door.ledger.close()


def with_first(plan, **changes):
    """The plan with another first campaign than the signed one."""
    first, *others = plan.campaigns
    return plan.model_copy(update={"campaigns": (first.model_copy(update=changes), *others)})


def sent(pilot, campaign):
    return [call for call in pilot.door.platform.calls if call[1] == campaign and call[0] != "pause"]


def refused(pilot, rule, said):
    end = pilot.run(until=3)
    assert end.how == "stopped"
    with closing(DecisionBook(pilot.folder / "pilot.db", "pilot-1")) as book:
        assert book.stop_event.figures["rule"] == rule
        assert said in book.stop_event.what


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"daily_micros": 50_000_001}, "a daily budget of"),
        ({"name": "foreign"}, "foreign"),
        ({"creative": double.ADVERT.model_copy(update={"headline": "Something else"})}, "advert"),
    ],
)
def test_what_was_not_signed_is_not_sent(pilot, changes, said):
    pilot.plan = with_first(pilot.plan, **changes)
    refused(pilot, "refused-action", said)
    name = pilot.plan.campaigns[0].name
    assert [call for call in sent(pilot, name) if call[0] in ("enable", "publish")] == []
    assert all(state.status == "paused" for state in pilot.door.platform.campaigns.values())


@pytest.mark.parametrize("changes", [{"account": "another"}, {"currency": "EUR"}])
def test_a_mandate_for_another_account_or_currency_sends_nothing(pilot, changes):
    signed = pilot_mandate(pilot.plan, double.TERMS).model_copy(update={"name": "another", **changes})
    pilot.mandate = double.grant(pilot.door, signed)
    assert pilot.run(until=3).how == "stopped"
    assert [call for call in pilot.door.platform.calls if call[0] != "pause"] == []


def test_a_mandate_that_has_expired_sends_nothing(pilot):
    pilot.clock.advance(timedelta(days=30))
    end = pilot.run(until=3)
    assert [call for call in pilot.door.platform.calls if call[0] != "pause"] == []
    assert end.how in ("stopped", "finished")
