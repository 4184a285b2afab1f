"""Whatever is ordered, bid, killed, revoked, lost, delayed and waited for, in any order: nothing leaves the mandate.

What was allowed is said by a small model of its own, which knows the numbers of the mandate and what was seen on the
platform, and nothing of the code that guards it.
"""

import contextlib
import importlib.util
import shutil
import sys
import uuid
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gaelp.approvals import Approver, Trust
from gaelp.budget import kill_switch
from gaelp.budget.ledger import CapKind, close_mandate, mandate_use, verify
from gaelp.errors import GaelpError
from gaelp.platforms import Done, find_order, guarded, reconcile


def _loaded(name, folder):
    if name not in sys.modules:
        path = Path(__file__).resolve().parents[1] / folder / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


double = _loaded("platform_double", "platforms")
databases = _loaded("ledger_databases", "budget")

# Wide: the mandate is to be what stops an order.
LIMITS = dict.fromkeys(
    (CapKind.CAMPAIGN_DAY, CapKind.CAMPAIGN, CapKind.ACCOUNT_DAY, CapKind.ACCOUNT, CapKind.TOTAL), 10**9
)
CAMPAIGN_DAILY, START, RAISE_PERCENT, BID, LAST = 9_000_000, 3_000_000, 50, 400_000, 6
DAY_CEILING, TOTAL = 22_000_000, 70_000_000
MONEY_CALLS = ("set_budget", "enable", "publish", "set_bids")
FAULTS = ("", "", "", "", "reject", "lose answer", "lose call", "delay call", "raise after", "raise before")
SEEN = Counter()  # over all sequences: nothing is shown by orders that were all refused


class Mandated(RuleBasedStateMachine):
    """An agent that tries everything, people who take its mandate away, and a platform with a bad line."""

    def __init__(self):
        super().__init__()
        self.folder = databases.quick_folder() / uuid.uuid4().hex
        self.folder.mkdir()
        self.door = double.build_door(self.folder, limits=LIMITS)
        self.trust = double.trust()
        authority = replace(self.door.guard.authority, trust=lambda: self.trust)
        self.door.guard = replace(self.door.guard, authority=authority)
        self.platform, self.clock = self.door.platform, self.door.clock
        self.count, self.signers = 0, ["ann", "bob"]
        self.stopped = False
        self.sent, self.granted = [], {}  # orders that reached the platform; mandates with what the model knows of each

    def teardown(self):
        self.door.ledger.close()
        shutil.rmtree(self.folder)

    # The model: what is allowed

    @property
    def today(self):
        return self.platform.today

    def is_alive(self, each):
        return each["alive"] and not self.stopped and self.today <= each["last"]

    def highest_before(self, campaign):
        """Of the budgets that are known to be in force, the highest of the last day before today."""
        known = [
            (day, order.daily_micros)
            for day, order in self.sent
            if order.kind == "budget" and order.campaign == campaign and day < self.today and self.is_done(order)
        ]
        if not known:
            return 0
        last = max(day for day, _ in known)
        return max(micros for day, micros in known if day == last)

    def is_done(self, order):
        return find_order(self.door.ledger, order.key).outcome == "done"

    def is_allowed(self, order):
        each = self.granted[order.mandate]
        if not self.is_alive(each) or order.model_hash != double.MODEL or order.campaign not in double.CAMPAIGNS:
            return False
        if order.until > each["last"] or order.daily_micros > CAMPAIGN_DAILY:
            return False
        raised = max(START, self.highest_before(order.campaign) * (100 + RAISE_PERCENT) // 100)
        if order.kind == "budget" and order.daily_micros > raised:
            return False
        return all(bid.micros <= BID for bid in order.bids)

    # What happens

    def send(self, order, fault=""):
        allowed, before = self.is_allowed(order), len(self.platform.sent(*MONEY_CALLS))
        self.platform.faults.extend([fault] if fault else [])
        try:
            outcome = guarded(self.door.guard, order)
            SEEN[f"{order.kind} {'done' if outcome == Done() else 'not done'}"] += 1
        except GaelpError:
            SEEN[f"{order.kind} refused, {'inside' if allowed else 'outside'}"] += 1
        self.platform.faults.clear()
        calls = len(self.platform.sent(*MONEY_CALLS)) - before
        assert calls <= (1 if allowed else 0), f"{order} was sent, and is outside"
        if calls:
            self.sent.append((self.today, order))

    @initialize()
    def first_mandate(self):
        self.grant()

    def grant(self):
        last = self.today + timedelta(days=LAST)
        self.count += 1
        wanted = double.mandate(
            name=f"m{self.count}",
            campaign_daily_micros=CAMPAIGN_DAILY,
            account_daily_micros=DAY_CEILING,
            total_micros=TOTAL,
            bid_micros=BID,
            start_daily_micros=START,
            raise_percent=RAISE_PERCENT,
            last_day=last,
        )
        self.granted[double.grant(self.door, wanted, who=tuple(self.signers))] = {
            "last": last,
            "alive": True,
            "signers": tuple(self.signers),
        }

    def order(self, kind, which, campaign, cents, days, model, bid):
        self.count += 1
        state = self.platform.campaigns.get(campaign)
        in_force = [
            order.daily_micros for day, order in self.sent if order.kind == "budget" and order.campaign == campaign
        ]
        daily = cents * 10_000 if kind == "budget" or not in_force else in_force[-1]
        until = self.today + timedelta(days=days)
        mandate_id = list(self.granted)[which % len(self.granted)]
        assert state is None or state.campaign == campaign
        return double.under(mandate_id, f"o{self.count}", kind, model, bid, campaign=campaign, daily=daily, until=until)

    @rule(
        kind=st.sampled_from(["budget", "budget", "budget", "bid", "bid", "enable", "publish"]),
        which=st.sampled_from([-1, -1, -1, 0, 1]),
        campaign=st.sampled_from([*double.CAMPAIGNS, *double.CAMPAIGNS, "winter"]),
        cents=st.integers(1, 1_000),
        days=st.sampled_from([0, 0, 1, 3, 9]),
        model=st.sampled_from([double.MODEL] * 5 + [double.OTHER_MODEL]),
        bid=st.sampled_from([1, 200_000, BID, BID + 1, 10**7]),
        fault=st.sampled_from(FAULTS),
    )
    def ordered(self, kind, which, campaign, cents, days, model, bid, fault):
        self.send(self.order(kind, which, campaign, cents, days, model, bid), fault)

    @rule(campaign=st.sampled_from(double.CAMPAIGNS), cents=st.integers(100, 450))
    def launched(self, campaign, cents):
        """What an agent does on a usual morning; nothing is wrong with it."""
        for kind in ("budget", "publish", "enable", "bid"):
            self.send(self.order(kind, -1, campaign, cents, 1, double.MODEL, 200_000))

    @rule(
        campaign=st.sampled_from(double.CAMPAIGNS),
        percent=st.integers(50, 200),
        bid=st.sampled_from([1, 200_000, BID, BID + 1]),
        fault=st.sampled_from(FAULTS),
    )
    def hour_by_hour(self, campaign, percent, bid, fault):
        """What it does during the day: another budget, often too high a one, and another bid."""
        sent = [order.daily_micros for _, order in self.sent if order.kind == "budget" and order.campaign == campaign]
        cents = max((sent[-1] if sent else START) * percent // 100 // 10_000, 1)
        self.send(self.order("budget", -1, campaign, cents, 1, double.MODEL, bid), fault)
        self.send(self.order("bid", -1, campaign, cents, 1, double.MODEL, bid))

    @precondition(lambda self: self.sent)
    @rule(index=st.integers(0, 50), fault=st.sampled_from(FAULTS))
    def retried(self, index, fault):
        order = self.sent[index % len(self.sent)][1]
        before = len(self.platform.sent(*MONEY_CALLS))
        self.platform.faults.extend([fault] if fault else [])
        with contextlib.suppress(GaelpError):
            guarded(self.door.guard, order)
        self.platform.faults.clear()
        assert len(self.platform.sent(*MONEY_CALLS)) == before, "what was sent once is not sent again"

    @rule(minutes=st.sampled_from([0, 10, 700, 1440, 1440, 2880]), percent=st.sampled_from([0, 30, 100]))
    def time_passes(self, minutes, percent):
        """Money is spent, hours or days go by, and the books are reconciled."""
        self.platform.deliver(percent)
        self.clock.advance(timedelta(minutes=minutes))
        before = len(self.platform.sent("set_budget"))
        result = reconcile(self.door.guard)
        renewed = self.platform.sent("set_budget")[before:]
        for _, _, key in renewed:
            order = find_order(self.door.ledger, key).order
            assert self.is_allowed(order), f"{order} was renewed, and is outside"
            self.sent.append((self.today, order))
        assert len(renewed) >= len(result.renewed)

    @rule(
        how=st.sampled_from(["kill", "kill for long", "revoke", "close", "key"]),
        again=st.sampled_from([True, True, False]),
    )
    def ended(self, how, again):
        """Somebody ends the mandate, one way or the other; usually a new one is signed later."""
        SEEN[f"ended by {how}"] += 1
        newest = list(self.granted)[-1]
        match how:
            case "kill" | "kill for long":
                self.kill(for_long=how != "kill")
            case "revoke":
                self.door.guard.authority.store.revoke(newest, by="ann", reason="over")
                self.granted[newest]["alive"] = False
            case "close":
                close_mandate(self.door.ledger, newest)
                self.granted[newest]["alive"] = False
            case "key":
                self.revoke_key()
        self.send(self.order("budget", -1, "spring", 100, 0, double.MODEL, 1))
        if again:
            self.signed_again()

    @rule()
    def signed_again(self):
        if self.stopped:
            self.door.guard.switch.release(lambda _: None)
            self.stopped = False
        if len(self.granted) < 5:
            self.clock.advance(timedelta(minutes=1))
            self.grant()

    def kill(self, *, for_long):
        self.door.guard.switch.stop(by="ann", reason="drill")
        for each in self.granted.values():
            each["alive"] = False
        self.stopped = True
        if not for_long:
            self.door.guard.switch.release(lambda _: None)
            self.stopped = False

    def revoke_key(self):
        """One of the two who sign is replaced; what they have signed is left with too few."""
        self.clock.advance(timedelta(minutes=1))
        gone, new = self.signers[1], f"bob{self.count}-{len(self.trust.approvers)}"
        added = Approver(
            name=new, public_key=double.key_of(new).public_key, roles=("marketing",), added_at=self.clock.now()
        )
        self.trust = Trust(approvers=(*self.trust.without(gone, self.clock.now()).approvers, added))
        self.signers[1] = new
        for each in self.granted.values():
            each["alive"] = each["alive"] and gone not in each["signers"]

    # What must hold after each step

    @invariant()
    def spending_stays_under_the_ceilings(self):
        charged = [(day, micros) for _, _, day, micros in self.platform.events if micros > 0]
        assert sum(micros for _, micros in charged) <= TOTAL * len(self.granted)
        for day in {day for day, _ in charged}:
            assert sum(micros for on, micros in charged if on == day) <= DAY_CEILING * len(self.granted)
        for mandate_id in self.granted:
            use = mandate_use(self.door.ledger, mandate_id)
            assert use.reserved.micros + use.spent.micros <= TOTAL

    @invariant()
    def budgets_and_bids_stay_under_theirs(self):
        for state in self.platform.campaigns.values():
            assert state.daily_micros <= CAMPAIGN_DAILY
            assert all(micros <= BID for _, micros in state.bids)

    @invariant()
    def the_books_are_in_order(self):
        checked = verify(self.door.ledger)
        assert checked.balances, checked.findings


@pytest.fixture
def walk(monkeypatch):
    """Make so many different sequences; the orders that passed are counted."""
    monkeypatch.setattr(kill_switch, "_SETTLE_SECONDS", 0.0)

    def run(examples, length):
        SEEN.clear()
        options = settings(
            max_examples=examples,
            stateful_step_count=length,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(Mandated, settings=options)
        return dict(SEEN)

    return run


def test_no_sequence_leaves_the_mandate(walk):
    actual = walk(10, 12)
    assert actual.get("budget done", 0) + actual.get("bid done", 0) >= 1


@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_no_sequence_of_2000_leaves_the_mandate(walk):
    actual = walk(2_000, 12)
    assert min(actual[f"{kind} done"] for kind in ("budget", "bid", "enable", "publish")) >= 200
    assert min(actual[f"{kind} refused, outside"] for kind in ("budget", "bid", "enable", "publish")) >= 200
