"""Whatever goes wrong on the way to Google Ads: one effect per key, no cost beyond reservations, no open question."""

import itertools
import random
from dataclasses import replace
from datetime import timedelta

import pytest

from gaelp.budget.ledger import verify
from gaelp.budget.platform_budget import day_worst_micros, load_platform_terms
from gaelp.errors import GaelpError
from gaelp.platforms import Bid, Done, Rejected, Unknown, find_order, guarded, open_orders, reconcile
from gaelp.platforms.cost_booking import reserved_micros
from gaelp.platforms.google_ads.gaql import query
from gaelp.platforms.order_book import orders_of_day
from gaelp.platforms.platform_clock import PlatformClock
from gaelp.platforms.unknown_outcomes import transfers_of
from gaelp.sandbox.faults import GRPC_STATUSES, Fault, FaultPlan

TERMS = load_platform_terms().of("google-ads")
KINDS = ("create", "raise", "publish", "first bids", "other bids", "enable", "pause")
MUTATE, READ = "GoogleAdsService.Mutate", "GoogleAdsService.SearchStream"
PATIENCE = 1.0  # seconds, in the calls that get no answer


def error(status, when, times=1, method=MUTATE, skip=0):
    return Fault(front="google", effect="error", method=method, status=status, when=when, times=times, skip=skip)


def silence(effect, when="before", times=1):
    return Fault(front="google", effect=effect, method=MUTATE, when=when, times=times, seconds=PATIENCE * 1.5)


def plans():
    """Every status before and after the change, once and lastingly; silence, delay, doubling; lost reads after it."""
    for status, when, times in itertools.product(GRPC_STATUSES, ("before", "after"), (1, 3)):
        yield f"{status} {when} x{times}", (error(status, when, times),)
    for effect, when, times in itertools.product(("lost", "delay"), ("before", "after"), (1, 2)):
        yield f"{effect} {when} x{times}", (silence(effect, when, times),)
    yield "twice", (Fault(front="google", effect="twice", method=MUTATE),)
    yield "twice and lost", (silence("lost", "after"), Fault(front="google", effect="twice", method=MUTATE))
    for status in ("UNAVAILABLE", "INVALID_ARGUMENT", "INTERNAL"):
        yield (
            f"{status} after, and no answer to the search",
            (
                error(status, "after"),
                error("UNAVAILABLE", "before", times=4, method=READ, skip=4),
            ),
        )


CASES = [pytest.param(kind, faults, id=f"{kind}: {name}") for kind in KINDS for name, faults in plans()]
SAMPLE = random.Random(5).sample(CASES, 12)  # noqa: S311 - the same every time


def test_there_are_five_hundred_faults():
    assert len(CASES) >= 500


@pytest.fixture
def google_door(make_door, double, sandbox):
    """Doors to empty accounts of the sandbox, whose ledgers follow simulated time."""

    def make():
        platform = sandbox.connect()
        door = make_door(platform=platform, terms=TERMS)
        ledger = replace(door.ledger, clock=PlatformClock(platform), wall_clock=door.clock)
        door.guard = replace(door.guard, ledger=ledger)
        return door

    return make


def ordered(door, double, key, kind, **more):
    more.setdefault("until", (door.platform.now() + timedelta(days=30)).date())
    creative = {"creative": ADVERT(double)} if kind == "publish" else {}
    return guarded(door.guard, double.approve(door, double.order(key, kind, **creative, **more)))


def ADVERT(double):  # noqa: N802 - made from the double's
    texts = {"description": "Baked every morning. Delivered before eight.", "call_to_action": "Order Today"}
    return double.ADVERT.model_copy(update={**texts, "advertiser": "Shop"})


def prepared(door, double, kind):
    """What must be there before the call that fails; the call."""
    if kind != "create":
        assert ordered(door, double, "b1", "budget") == Done()
    if kind == "other bids":
        assert ordered(door, double, "bid-1", "bid", bids=bids(200_000)) == Done()
    if kind == "pause":
        assert ordered(door, double, "e1", "enable") == Done()
    orders = {
        "create": ("budget", {}),
        "raise": ("budget", {"daily": 8_000_000}),
        "publish": ("publish", {}),
        "first bids": ("bid", {"bids": bids(200_000)}),
        "other bids": ("bid", {"bids": bids(300_000)}),
        "enable": ("enable", {}),
    }
    if kind == "pause":
        return lambda: door.platform.pause("spring", key="pause/spring/1")
    return lambda: ordered(door, double, "wanted", orders[kind][0], **orders[kind][1])


def bids(micros):
    return (Bid(target="bread | rolls", micros=micros), Bid(target="cakes", micros=micros))


def check(door, double, sandbox, kind, faults):
    call = prepared(door, double, kind)
    outcome = tried(door, sandbox, faults, call)
    assert sandbox.faults.due() != FaultPlan(faults=faults), "the fault was not met"
    sandbox.faults.replace(FaultPlan())
    if kind == "pause":
        assert isinstance(outcome, Done | Unknown)
        assert door.platform.pause("spring", key="pause/spring/2") == Done()
        assert [state.status for state in door.platform.read_campaigns()] == ["paused"]
        return
    settle(door, sandbox)
    row = find_order(door.ledger, "wanted")
    found = door.platform.look_up("wanted")
    assert (row.outcome, found) in (("done", Done()), ("rejected", None)), outcome
    assert not (isinstance(outcome, Done) and row.outcome != "done")
    assert not (isinstance(outcome, Rejected) and row.outcome != "rejected")
    check_account(door, kind, done=row.outcome == "done")


def tried(door, sandbox, faults, call):
    """The outcome, or the refusal if the campaign could not be read back; impatient only where no answer comes."""
    connection = door.platform._connection
    patient = connection.settings
    if any(fault.effect in ("lost", "delay") for fault in faults):
        connection.settings = patient.model_copy(update={"deadline_seconds": PATIENCE})
    sandbox.faults.replace(FaultPlan(faults=faults))
    try:
        return call()
    except GaelpError as refusal:
        return refusal
    finally:
        connection.settings = patient


def settle(door, sandbox):
    """Reconcile until every order has an outcome; what left no trace counts as not arrived after a while."""
    for _ in range(2):
        reconcile(door.guard)
        if not open_orders(door.ledger, "acc"):
            return
        sandbox.advance(hours=2)
    reconcile(door.guard)
    assert open_orders(door.ledger, "acc") == []


def check_account(door, kind, *, done):
    """One campaign and one budget of a name, nothing beyond what is reserved, and exactly what was done."""
    for resource in ("campaign", "campaign_budget"):
        fields = (f"{resource}.name", f"{resource}.status")
        rows = door.platform._connection.search(query(resource, *fields))
        assert len(rows) <= 1, rows
    states = door.platform.read_campaigns()
    expected = {"create": 5_000_000, "raise": 8_000_000 if done else 5_000_000}.get(kind, 5_000_000)
    assert [state.daily_micros for state in states] == ([] if kind == "create" and not done else [expected])
    for state in states:
        rows = orders_of_day(door.ledger, "acc", door.guard.today().isoformat())
        held = reserved_micros(transfers_of(door.guard, rows))
        if state.through >= door.guard.today():
            assert day_worst_micros(state.daily_micros, TERMS) <= held
        micros = {"first bids": 200_000, "other bids": 300_000}.get(kind, 0) if done else 200_000
        assert {bid for _, bid in state.bids} == (
            {micros} if kind in ("first bids", "other bids") and state.bids else set()
        )
        assert bool(state.creatives) == (kind == "publish" and done)
    assert verify(door.guard.ledger).balances


@pytest.mark.parametrize(("kind", "faults"), SAMPLE)
def test_after_a_fault_and_reconciliation_every_order_has_one_known_outcome(google_door, double, sandbox, kind, faults):
    check(google_door(), double, sandbox, kind, faults)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_after_any_of_500_faults_every_order_has_one_known_outcome(google_door, double, sandbox, kind):
    for param in CASES:
        if param.values[0] == kind:
            check(google_door(), double, sandbox, kind, param.values[1])
