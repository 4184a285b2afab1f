"""A ledger in a few dictionaries, and a machine that makes random steps on it and on a real one and compares each.

Loaded by its path from test_ledger_stateful.py; the machine is made for one real ledger at a time.
"""

from datetime import timedelta
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sqlalchemy import text

from gaelp.budget.kill_switch import KillSwitch, fence_of
from gaelp.budget.latch import StopRecord
from gaelp.budget.ledger import (
    Bucket,
    Cap,
    CapKind,
    CapReached,
    KeyReused,
    Reservation,
    SpendingStopped,
    UnknownTransfer,
    WrongState,
    adjust,
    expire,
    mark_in_flight,
    overview,
    post,
    raise_fence,
    reopen_cap,
    reserve,
    set_limit,
    verify,
    void,
)
from gaelp.clock import account_day
from gaelp.errors import MoneyError
from gaelp.money import Money

LIMITS = {
    Cap(CapKind.EPISODE, "e"): 100,
    Cap(CapKind.CAMPAIGN_DAY, "c"): 80,
    Cap(CapKind.CAMPAIGN, "c"): 250,
    Cap(CapKind.ACCOUNT_DAY, "acc"): 120,
    Cap(CapKind.TOTAL, "all"): 400,
}
TIME_TO_SEND = timedelta(minutes=10)
STORED = text("SELECT key, state, posted_micros + adjusted_micros AS cost FROM ledger_transfer")
KEYS = st.sampled_from([f"k{n}" for n in range(10)])
CAPS = st.sets(st.sampled_from(sorted(LIMITS)), min_size=1).map(lambda caps: tuple(sorted(caps)))


def usd(micros):
    return Money(micros, "USD")


class Model:
    """What the ledger should hold: every sum is computed again from the transfers."""

    def __init__(self):
        self.limits = dict(LIMITS)  # of new buckets
        self.buckets = {}  # Bucket -> [limit, breached]
        self.transfers = {}  # key -> dict
        self.adjustments = {}
        self.stopped = False

    def used(self, bucket):
        return sum(
            (each["amount"] if each["state"] in ("reserved", "in_flight") else each["cost"])
            for each in self.transfers.values()
            if bucket in each["buckets"]
        )

    def booked(self, transfer):
        """Cost was booked: a bucket beyond its limit closes."""
        for bucket in transfer["buckets"]:
            if self.used(bucket) > self.buckets[bucket][0]:
                self.buckets[bucket][1] = True


def outcome(act):
    """What a step answers: (state, is_new), or the class of what it raised."""
    try:
        receipt = act()
    except (CapReached, KeyReused, SpendingStopped, UnknownTransfer, WrongState, MoneyError) as refusal:
        return type(refusal)
    return (str(receipt.state), receipt.is_new)


class LedgerMachine(RuleBasedStateMachine):
    """Steps on the real ledger and the model; `fresh` returns an empty (ledger, clock), `count` gets each step."""

    fresh = None
    count = None

    def __init__(self):
        super().__init__()
        self.ledger, self.clock = type(self).fresh()
        self.model = Model()

    def step(self, what, act, expected):
        type(self).count(*what)
        assert outcome(act) == expected

    def day(self):
        return account_day(self.clock.now(), "Europe/Berlin").isoformat()

    @rule(key=KEYS, micros=st.integers(1, 90), caps=CAPS)
    def reserve(self, key, micros, caps):
        expected = self.expected_reserve(key, micros, caps)
        request = Reservation(key, "acc", usd(micros), caps)
        act = partial(reserve, self.ledger, request, time_to_send=TIME_TO_SEND)
        self.step(("reserve", key, micros, caps), act, expected)

    def expected_reserve(self, key, micros, caps):
        if self.model.stopped:
            return SpendingStopped
        before = self.model.transfers.get(key)
        if before is not None:
            return (before["state"], False) if (before["amount"], before["caps"]) == (micros, caps) else KeyReused
        buckets = [Bucket(cap, self.day() if cap.kind.counts_days else "") for cap in caps]
        states = [self.model.buckets.get(bucket, [self.model.limits[bucket.cap], False]) for bucket in buckets]
        for bucket, (limit, breached) in zip(buckets, states, strict=True):
            if breached or self.model.used(bucket) + micros > limit:
                return CapReached
        self.model.buckets.update(zip(buckets, states, strict=True))
        self.model.transfers[key] = {
            "amount": micros,
            "caps": caps,
            "buckets": buckets,
            "state": "reserved",
            "cost": 0,
            "posted": 0,
            "until": self.clock.now() + TIME_TO_SEND,
        }
        return ("reserved", True)

    @rule(key=KEYS)
    def mark_in_flight(self, key):
        transfer = self.model.transfers.get(key)
        if self.model.stopped:
            expected = SpendingStopped
        elif transfer is None:
            expected = UnknownTransfer
        elif transfer["state"] in ("posted", "in_flight"):
            expected = (transfer["state"], False)
        elif transfer["state"] != "reserved" or self.clock.now() >= transfer["until"]:
            expected = WrongState
        else:
            transfer["state"], expected = "in_flight", ("in_flight", True)
        self.step(("mark_in_flight", key), lambda: mark_in_flight(self.ledger, key), expected)

    @rule(key=KEYS, micros=st.integers(0, 120))
    def post(self, key, micros):
        transfer = self.model.transfers.get(key)
        if transfer is None:
            expected = UnknownTransfer
        elif transfer["state"] in ("reserved", "in_flight"):
            transfer.update(state="posted", cost=micros, posted=micros)
            self.model.booked(transfer)
            expected = ("posted", True)
        elif transfer["state"] == "posted":
            expected = ("posted", False) if transfer["posted"] == micros else KeyReused
        else:
            expected = WrongState
        self.step(("post", key, micros), lambda: post(self.ledger, key, usd(micros)), expected)

    @rule(key=KEYS)
    def void(self, key):
        transfer = self.model.transfers.get(key)
        if transfer is None:
            expected = UnknownTransfer
        elif transfer["state"] in ("reserved", "in_flight"):
            transfer["state"], expected = "voided", ("voided", True)
        else:
            expected = ("voided", False) if transfer["state"] == "voided" else WrongState
        self.step(("void", key), lambda: void(self.ledger, key), expected)

    @rule(name=st.sampled_from("xyz"), key=KEYS, micros=st.integers(-60, 60).filter(bool))
    def adjust(self, name, key, micros):
        transfer, before = self.model.transfers.get(key), self.model.adjustments.get(name)
        if before is not None:
            state = self.model.transfers[before[0]]["state"]
            expected = (state, False) if before == (key, micros) else KeyReused
        elif transfer is None:
            expected = UnknownTransfer
        elif transfer["state"] in ("reserved", "in_flight"):
            expected = WrongState
        elif transfer["cost"] + micros < 0:
            expected = MoneyError
        else:
            self.model.adjustments[name] = (key, micros)
            transfer["cost"] += micros
            self.model.booked(transfer)
            expected = (transfer["state"], True)
        act = partial(adjust, self.ledger, name, transfer_key=key, difference=usd(micros), reason="revised")
        self.step(("adjust", name, key, micros), act, expected)

    @rule(minutes=st.sampled_from([1, 5, 10, 60, 600, 1440]))
    def time_passes(self, minutes):
        type(self).count("time_passes", minutes)
        self.clock.advance(timedelta(minutes=minutes))
        due = {
            key
            for key, each in self.model.transfers.items()
            if each["state"] == "reserved" and each["until"] <= self.clock.now()
        }
        for key in due:
            self.model.transfers[key]["state"] = "expired"
        assert set(expire(self.ledger)) == due

    @rule(cap=st.sampled_from(sorted(LIMITS)), micros=st.integers(0, 400))
    def set_limit(self, cap, micros):
        type(self).count("set_limit", cap, micros)
        self.model.limits[cap] = micros
        for bucket, state in self.model.buckets.items():
            if bucket.cap == cap and (not bucket.day or bucket.day >= self.day()):
                state[0] = micros
                state[1] = state[1] or self.model.used(bucket) > micros
        set_limit(self.ledger, cap, usd(micros), account_id="" if cap.kind is CapKind.TOTAL else "acc")

    @rule(data=st.data())
    def reopen(self, data):
        if not self.model.buckets:
            return
        bucket = data.draw(st.sampled_from(sorted(self.model.buckets)))
        type(self).count("reopen", bucket)
        state = self.model.buckets[bucket]
        if self.model.used(bucket) > state[0]:
            try:
                reopen_cap(self.ledger, bucket)
            except CapReached:
                return
            raise AssertionError(f"{bucket} was reopened above its limit")
        state[1] = False
        reopen_cap(self.ledger, bucket)

    @rule(on=st.booleans(), wall=st.sampled_from(["latch", "fence", "both"]))
    def kill_switch(self, on, wall):
        type(self).count("kill_switch", on, wall)
        record = StopRecord("s", self.clock.now().isoformat(), "model", "drill")
        if on:
            if wall != "fence":
                self.ledger.latch.set(record)
            if wall != "latch":
                raise_fence(self.ledger, record)
        else:
            KillSwitch(self.ledger.latch, fence=fence_of(self.ledger)).release(lambda _: None)
        self.model.stopped = on

    def teardown(self):
        checked = verify(self.ledger)
        assert checked.balances, checked.findings

    @invariant()
    def every_bucket_is_as_in_the_model(self):
        real = {cap.id: cap for cap in overview(self.ledger).caps}
        opened = {bucket.id for bucket in self.model.buckets}
        assert opened <= set(real)
        for untouched in set(real) - opened:
            each = real[untouched]
            assert (each.reserved_micros, each.posted_micros, each.breached) == (0, 0, False)
            assert each.limit_micros == self.model.limits[Cap(CapKind(each.kind), each.subject)]
            assert each.day in ("", self.day())
        for bucket, (limit, breached) in self.model.buckets.items():
            each = real[bucket.id]
            assert (each.limit_micros, each.breached) == (limit, breached)
            assert each.reserved_micros + each.posted_micros == self.model.used(bucket)
            assert breached or self.model.used(bucket) <= limit

    @invariant()
    def every_transfer_is_as_in_the_model(self):
        with self.ledger.snapshot() as connection:
            rows = connection.execute(STORED).all()
        assert {row.key: (row.state, row.cost) for row in rows} == {
            key: (each["state"], each["cost"]) for key, each in self.model.transfers.items()
        }
