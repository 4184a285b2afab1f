"""An ad platform in memory that misbehaves on demand, and a door to it with every part real but the platform.

The conftest files beside the tests load it by its path, for tests are not a package.
"""

import hashlib
import pickle
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import RLock
from types import SimpleNamespace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gaelp.approvals import (
    ApprovalPolicy,
    ApprovalStore,
    Approver,
    Mandate,
    SignedAction,
    SigningKey,
    Trust,
    action_hash,
    sign,
)
from gaelp.authority.mandates import mandate_action
from gaelp.budget.kill_switch import KillSwitch, fence_of
from gaelp.budget.latch import Latch
from gaelp.budget.ledger import (
    AdAccount,
    Cap,
    CapKind,
    MandateRoom,
    create_ledger,
    open_account,
    open_ledger,
    open_mandate,
    set_limit,
)
from gaelp.budget.platform_budget import Overdelivery, day_worst_micros
from gaelp.budget.violations import ViolationStore
from gaelp.clock import ManualClock, account_day
from gaelp.content import ContentFinding, ContentVerdict, Creative, ReviewQueue, creative_hash
from gaelp.content.verdict import case_of, overall
from gaelp.money import Money
from gaelp.observability.alerts import Dispatcher
from gaelp.platforms import (
    ALL_CAPS,
    Authority,
    Bid,
    CampaignHour,
    CampaignState,
    CostReport,
    DayCost,
    Done,
    Guard,
    HourReport,
    Order,
    Rejected,
    Unknown,
    action_of,
    create_order_book,
    pause_all,
)
from gaelp.platforms.experiments import ExperimentState

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
ZONE = "UTC"
CAMPAIGNS = ("spring", "summer")
TERMS = Overdelivery(
    platform="double", day_percent=200, period="month", period_percent=3040, step_micros=10_000, why="as Google"
)
FAULTS = ("reject", "lose answer", "lose call", "delay call", "raise after", "raise before", "double the budget")


class PlatformDouble:
    """Campaigns, what they spent, and a queue of faults: the next mutating call but `pause` takes the next fault.

    With a path, it is read from there and written to it around every call, so that it outlives a killed process.
    """

    name, world = "double", "live"

    def __init__(self, clock, *, path=None, delay=timedelta(minutes=30), report_lag=timedelta(hours=3)):
        self.clock, self.path, self.delay, self.report_lag = clock, path, delay, report_lag
        self.faults, self.pause_faults, self.down = deque(), deque(), False
        self.one_at_a_time = RLock()
        self.campaigns, self.answers, self.calls, self.on_the_way, self.peaks, self.events = {}, {}, [], [], {}, []
        self.hours, self.hours_lag = [], timedelta(0)
        self.edits, self.invoices, self.experiments = [], [], {}
        if path is not None and path.exists():
            self._load()

    # Calls that change something

    def set_budget(self, campaign, daily_micros, through, *, key):
        return self._call("set_budget", campaign, key, (daily_micros, through))

    def publish(self, campaign, creative, *, key):
        return self._call("publish", campaign, key, (creative_hash(creative),))

    def set_bids(self, campaign, bids, *, key):
        return self._call("set_bids", campaign, key, (tuple(sorted(bids.items())),))

    def enable(self, campaign, *, key):
        return self._call("enable", campaign, key, ())

    def pause(self, campaign, *, key):
        return self._call("pause", campaign, key, ())

    def start_experiment(self, name, campaign, percent, bids, *, key):
        return self._call("start_experiment", campaign, key, (name, percent, bids))

    def set_treatment_bids(self, name, bids, *, key):
        return self._call("set_treatment_bids", self._campaign_of(name), key, (name, bids))

    def end_experiment(self, name, *, key):
        return self._call("end_experiment", self._campaign_of(name), key, (name,))

    def _campaign_of(self, experiment):
        state = self.experiments.get(experiment)
        return state.campaign if state else None

    def _call(self, what, campaign, key, values):
        with self.one_at_a_time:
            self._load()
            self._arrive()
            self.calls.append((what, campaign, key))
            queue = self.pause_faults if what == "pause" else self.faults
            fault = queue.popleft() if queue else ""
            outcome = self._faulty(fault, what, campaign, key, values)
            self._store()
        if fault.startswith("raise"):
            raise ConnectionResetError("the line went dead")
        return outcome

    def _faulty(self, fault, what, campaign, key, values):
        if self.down:
            return Unknown("no answer in time")
        if key in self.answers:
            return self.answers[key]
        match fault:
            case "reject":
                return self.answers.setdefault(key, Rejected("policy of the platform"))
            case "lose call" | "raise before":
                return Unknown("no answer in time")
            case "delay call":
                self.on_the_way.append((self.clock.now() + self.delay, what, campaign, key, values))
                return Unknown("no answer in time")
            case "double the budget" if what == "set_budget":
                values = (2 * values[0], values[1])
        done = self._apply(what, campaign, key, values)
        return Unknown("no answer in time") if fault in ("lose answer", "raise after") else done

    def _apply(self, what, campaign, key, values):
        state = self.campaigns.get(campaign)
        if what == "set_budget":
            if values[0] % TERMS.step_micros:
                return self.answers.setdefault(key, Rejected("not a multiple of the step"))
            state = state or CampaignState(campaign, "paused", *values)
            state = replace(state, daily_micros=values[0], through=values[1])
        elif state is None:
            return self.answers.setdefault(key, Rejected("no such campaign"))
        elif what.endswith(("experiment", "treatment_bids")):
            self._apply_experiment(what, state, *values)
        elif what == "set_bids":
            state = replace(state, bids=tuple(sorted({**dict(state.bids), **dict(values[0])}.items())))
        elif what == "publish":
            state = replace(state, creatives=(*state.creatives, *values))
        else:
            state = replace(state, status="enabled" if what == "enable" else "paused")
        self.campaigns[campaign] = state
        self._note_peak(state)
        return self.answers.setdefault(key, Done())

    def _apply_experiment(self, what, state, name, *values):
        if what == "start_experiment":
            percent, bids = values
            merged = tuple(sorted({**dict(state.bids), **bids}.items()))
            self.experiments[name] = ExperimentState(name, state.campaign, percent, "running", merged)
            return
        running = self.experiments[name]
        if what == "end_experiment":
            self.experiments[name] = replace(running, status="ended")
        else:
            bids = tuple(sorted({**dict(running.bids), **values[0]}.items()))
            self.experiments[name] = replace(running, bids=bids)

    def _arrive(self):
        """Calls that were delayed take effect when their time has come."""
        due = [call for call in self.on_the_way if call[0] <= self.clock.now()]
        self.on_the_way = [call for call in self.on_the_way if call not in due]
        for _, what, campaign, key, values in due:
            if key not in self.answers:
                self._apply(what, campaign, key, values)

    # Reading

    def now(self):
        return self.clock.now()

    def read_edits(self, since):
        self._read()
        return tuple(edit for edit in self.edits if edit.at >= since)

    def read_invoices(self, first, last):
        self._read()
        return tuple(invoice for invoice in self.invoices if first <= invoice.month <= last)

    def read_experiments(self):
        self._read()
        return tuple(self.experiments.values())

    def look_up(self, key):
        self._read()
        return self.answers.get(key)

    def read_campaigns(self):
        self._read()
        return tuple(self.campaigns.values())

    def read_costs(self, first, last):
        self._read()
        as_of = self.clock.now() - self.report_lag
        sums = {}
        for known_at, campaign, day, micros in self.events:
            if known_at <= as_of and first <= day <= last:
                sums[campaign, day] = sums.get((campaign, day), 0) + micros
        return CostReport(as_of, tuple(DayCost(campaign, day, micros) for (campaign, day), micros in sums.items()))

    def read_hours(self, since):
        self._read()
        as_of = self.clock.now() - self.hours_lag
        return HourReport(as_of, tuple(hour for hour in self.hours if since <= hour.start < as_of))

    def _read(self):
        with self.one_at_a_time:
            self._load()
            if self.down:
                raise ConnectionResetError("the line went dead")
            self._arrive()
            self._store()

    # Spending

    @property
    def today(self):
        return account_day(self.clock.now(), ZONE)

    def _note_peak(self, state):
        if state.status == "enabled" and state.through >= self.today:
            at = (state.campaign, self.today)
            self.peaks[at] = max(self.peaks.get(at, 0), state.daily_micros)

    def deliver(self, percent=100, *, known_after=timedelta(0)):
        """Spend so many percent of what is still possible today: twice the highest budget of the day, no more."""
        self._arrive()
        for state in self.campaigns.values():
            self._note_peak(state)
            if state.status == "enabled" and state.through >= self.today:
                worst = day_worst_micros(self.peaks[state.campaign, self.today], TERMS)
                left = worst - self.charged(state.campaign, self.today)
                self.charge(state.campaign, self.today, left * percent // 100, known_after=known_after)

    def charge(self, campaign, day, micros, *, known_after=timedelta(0)):
        """Spend, or give back, whatever the rules say."""
        self.events.append((self.clock.now() + known_after, campaign, day, micros))

    def report_hour(self, campaign, start, cost_micros=0, impressions=0, clicks=0, conversions=0):
        """Let an hour have been so, whatever was charged; said again, it is revised."""
        self.hours = [hour for hour in self.hours if (hour.campaign, hour.start) != (campaign, start)]
        self.hours.append(CampaignHour(campaign, start, cost_micros, impressions, clicks, conversions))

    def spent(self, campaign=None, day=None):
        return sum(micros for _, name, on, micros in self.events if campaign in (None, name) and day in (None, on))

    def charged(self, campaign, day):
        """What was taken, whatever came back later."""
        return sum(micros for _, name, on, micros in self.events if (name, on) == (campaign, day) and micros > 0)

    def sent(self, *what):
        """The calls that arrived or were lost, by kind."""
        self._load()
        return [call for call in self.calls if call[0] in what]

    # Outliving a process

    _KEPT = ("campaigns", "answers", "calls", "on_the_way", "peaks", "events", "hours", "edits", "experiments")

    def _load(self):
        if self.path is not None and self.path.exists():
            vars(self).update(pickle.loads(self.path.read_bytes()))  # noqa: S301 - written by this very class

    def _store(self):
        if self.path is not None:
            fresh = self.path.with_suffix(".new")
            fresh.write_bytes(pickle.dumps({name: getattr(self, name) for name in self._KEPT}))
            fresh.replace(self.path)


# The other parts


class StubJudge:
    """Returns the findings it was given."""

    def __init__(self):
        self.findings = ()

    def check(self, creative):
        exact = creative_hash(creative)
        return ContentVerdict(
            creative_id=creative.id,
            creative_hash=exact,
            policy_hash="0" * 64,
            outcome=overall(self.findings),
            findings=self.findings,
            profanity=0.0,
            quality=1.0,
            case=case_of(exact, self.findings),
        )

    def find(self, severity):
        self.findings = (ContentFinding(rule="a-rule", category="claims", severity=severity, why="it is doubtful"),)


class Heard:
    """An alert channel that remembers."""

    name = "heard"

    def __init__(self):
        self.alerts = []

    def send(self, alert):
        self.alerts.append(alert)

    @property
    def rules(self):
        return [alert.key.split("/")[0] for alert in self.alerts]


ADVERT = Creative(id="bread-1", headline="Fresh Bread", landing_url="https://www.shop.example/bread")
POLICY = ApprovalPolicy(
    quorum=2,
    roles=("finance", "marketing"),
    at_least={"finance": 1},
    valid_minutes_max=1440,
    escalate_after_minutes=240,
    expire_after_minutes=2880,
    why="two people",
)
SANDBOX = ApprovalPolicy(
    quorum=1,
    four_eyes=False,
    sandbox=True,
    valid_minutes_max=1440,
    escalate_after_minutes=240,
    expire_after_minutes=2880,
    why="no real money",
)


def key_of(name):
    return SigningKey(name, Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest()))


def trust():
    roles = {"ann": ("finance",), "bob": ("marketing",)}
    return Trust(
        approvers=tuple(
            Approver(name=name, public_key=key_of(name).public_key, roles=role, added_at=NOW - timedelta(days=9))
            for name, role in roles.items()
        )
    )


def order(key="b1", kind="budget", campaign="spring", daily=5_000_000, until=None, **more):
    """An order with sensible values but for what is named."""
    values = {"run_id": "20261116-1", "requester": "cyd", "until": until or (NOW + timedelta(days=10)).date()}
    creative = {"creative": ADVERT} if kind == "publish" and "creative" not in more else {}
    return Order(key=key, kind=kind, campaign=campaign, daily_micros=daily, **{**values, **creative, **more})


def build_door(folder, *, place=None, clock=None, limits=None, **changes):
    """A guard with a real ledger, approvals, reviews, violations and alerts, and the double behind it."""
    clock = clock or ManualClock(NOW)
    latch, heard, judge = Latch(folder / "STOPPED"), Heard(), StubJudge()
    limits = dict.fromkeys(ALL_CAPS, 100_000_000) | (limits or {})
    ledger = create_ledger(place or folder / "ledger.db", latch, clock=clock)
    account = AdAccount("acc", "USD", ZONE)
    open_account(ledger, account)
    create_order_book(ledger)
    for kind, micros in limits.items():
        of_campaign = kind in (CapKind.CAMPAIGN, CapKind.CAMPAIGN_DAY)
        for subject in CAMPAIGNS if of_campaign else ("all" if kind is CapKind.TOTAL else "acc",):
            owner = "" if kind is CapKind.TOTAL else "acc"
            set_limit(ledger, Cap(kind, subject), Money(micros, "USD"), account_id=owner)
    return assemble(folder, ledger, account, clock, heard, judge, limits, place=place, **changes)


def open_door(folder, *, place=None, clock=None, limits=None, at_point=lambda _: None, **changes):
    """The same again in another process."""
    clock = clock or ManualClock(NOW)
    ledger = open_ledger(place or folder / "ledger.db", Latch(folder / "STOPPED"), clock=clock, at_point=at_point)
    limits = dict.fromkeys(ALL_CAPS, 100_000_000) | (limits or {})
    account = AdAccount("acc", "USD", ZONE)
    return assemble(folder, ledger, account, clock, Heard(), StubJudge(), limits, place=place, **changes)


def assemble(folder, ledger, account, clock, heard, judge, limits, *, place=None, platform=None, **changes):
    platform = platform or PlatformDouble(clock)
    # As in production: in PostgreSQL approvals are beside the ledger, otherwise in their own file.
    store = ApprovalStore(place if isinstance(place, str) else folder / "approvals.db", clock)
    switch = KillSwitch(ledger.latch, fence=fence_of(ledger), pause=lambda: pause_all(platform, CAMPAIGNS), clock=clock)
    guard = Guard(
        platform=platform,
        account=account,
        terms=TERMS,
        day_cap_micros=limits[CapKind.ACCOUNT_DAY],
        ledger=ledger,
        switch=switch,
        authority=Authority(store, POLICY if platform.world == "live" else SANDBOX, trust),
        judge=judge,
        reviews=ReviewQueue(folder / "reviews.sqlite", clock),
        violations=ViolationStore(folder / "violations.sqlite"),
        alerts=Dispatcher([heard], clock),
    )
    guard = replace(guard, **changes)
    return SimpleNamespace(
        guard=guard, platform=platform, clock=clock, ledger=ledger, heard=heard, judge=judge, folder=folder
    )


MODEL = "ab" * 32
OTHER_MODEL = "cd" * 32


def mandate(**changes):
    """A mandate with sensible ceilings but for what is named."""
    values = {
        "name": "pilot",
        "account": "acc",
        "currency": "USD",
        "campaigns": CAMPAIGNS,
        "creatives": (creative_hash(ADVERT),),
        "model_hash": MODEL,
        "campaign_daily_micros": 9_000_000,
        "account_daily_micros": 26_000_000,
        "total_micros": 60_000_000,
        "bid_micros": 400_000,
        "start_daily_micros": 5_000_000,
        "raise_percent": 20,
        "last_day": (NOW + timedelta(days=10)).date(),
    }
    return Mandate(**values | changes)


def propose(door, wanted, who=("ann", "bob")):
    """Have people sign a mandate; the answer is its action."""
    action = mandate_action(wanted, door.platform.world)
    door.guard.authority.store.request(action)
    submit(door, action, who)
    return action


def submit(door, action, who, at=None):
    """Have people sign an action that was requested."""
    authority = door.guard.authority
    for name in who:
        at, hours = at or door.clock.now(), timedelta(hours=8)
        signed = sign(action, key_of(name), decision="approve", reason="seen", at=at, valid_for=hours)
        authority.store.submit(signed, authority.policy, authority.trust())


def grant(door, wanted, who=("ann", "bob")):
    """Put a mandate in force; the answer is its id."""
    authority = door.guard.authority
    action = propose(door, wanted, who)
    used = authority.store.consume(action, authority.policy, authority.trust(), consumer=f"mandate {wanted.name}")
    room = MandateRoom(used.action_hash, wanted.total_micros, wanted.account_daily_micros)
    open_mandate(door.ledger, room, door.guard.account, None, first_signed_at=door.clock.now())
    return used.action_hash


def release(door, who=("ann", "bob")):
    """Release the stop in force with signatures."""
    authority = door.guard.authority

    def authorise(state):
        stops = ", ".join(state.stop_ids)
        action = SignedAction(kind="revive", run_id="kill-switch", requester="kill-switch", subject=stops)
        authority.store.request(action)
        submit(door, action, who)
        authority.store.consume(action, authority.policy, authority.trust(), consumer=action_hash(action))

    door.guard.switch.release(authorise)


def under(mandate_id, key="b1", kind="budget", model=MODEL, bid=None, **more):
    """An order under a mandate."""
    bids = (Bid(target="group-1", micros=bid or 200_000),) if kind == "bid" else ()
    return order(key, kind, mandate=mandate_id, model_hash=model, bids=bids, **more)


def approve(door, *orders, who=("ann", "bob"), at=None):
    """Have people sign exactly these orders; the last is the answer."""
    for wanted in orders:
        action = action_of(wanted, door.guard.account, door.platform.world)
        door.guard.authority.store.request(action)
        submit(door, action, who, at)
    return orders[-1]
