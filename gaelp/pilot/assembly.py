"""Put a pilot's loop together from an opened guard, a signed plan and an agent."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from gaelp.arrays import Floats
from gaelp.clock import Clock, day_start
from gaelp.config.pilot_settings import PilotSettings
from gaelp.config.settings import BudgetSettings
from gaelp.database import Place
from gaelp.errors import BadInput
from gaelp.history.logged_bidders import KnownSegments
from gaelp.market.baselines.bids import Bidder
from gaelp.market.from_reports.bids import BidRules
from gaelp.market.market import Market
from gaelp.pilot.account_lease import AccountLease, this_process
from gaelp.pilot.acting import Actor
from gaelp.pilot.bid_choice import SendingRules
from gaelp.pilot.controller import BidController, CampaignHours, Controller, Decision
from gaelp.pilot.decision_book import DecisionBook
from gaelp.pilot.evidence_rows import EvidenceRows
from gaelp.pilot.looking import Looker
from gaelp.pilot.loop import PilotRun
from gaelp.pilot.pilot_orders import PilotOrders
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.pilot_stopping import Maturing, StopWatch
from gaelp.pilot.report_arrays import PilotPlaces
from gaelp.pilot.stops import StopRules
from gaelp.pilot.timekeeper import HeldClock, Timekeeper
from gaelp.platforms import Guard
from gaelp.platforms.remembered_reads import RememberedReads

__all__ = ["MakeController", "PilotAgent", "pilot_begins", "pilot_controller", "pilot_guard", "prepare_run"]

# Who decides, around the agent's controller; it may read what was reported so far.
MakeController = Callable[[Controller, Looker], BidController]

_DAY_HOURS = 24
_RECENT = timedelta(hours=6)  # what changes most: later sales and credits are seen once a day


@dataclass(frozen=True, slots=True)
class PilotAgent:
    """Who decides, and what it knows of the plan's campaigns, in the plan's order."""

    policy: Bidder
    known: KnownSegments
    market: Market
    outside: Callable[[Decision], float] | None = None  # share of features that training never saw


def pilot_begins(plan: PilotPlan) -> datetime:
    """Midnight of the first day by the account's clock, in UTC."""
    return day_start(plan.first_day, plan.time_zone)


def pilot_guard(guard: Guard, timekeeper: Timekeeper, whole_read_days: int = 1) -> tuple[Guard, HeldClock | None]:
    """A guard for the loop: the account is read once an interval, and simulated time asked for once.

    On a live platform the clock is the guard's own, and all hours that are open to revision are read every time. In a
    sandbox, where an hour passes in a moment, those older than six hours are read every `whole_read_days`.
    """
    if guard.platform.world == "live":
        return replace(guard, platform=RememberedReads(guard.platform)), None
    platform = RememberedReads(guard.platform, recent=_RECENT, whole_every=timedelta(days=whole_read_days))
    clock = HeldClock(timekeeper)
    ledger = replace(guard.ledger, clock=clock, wall_clock=guard.ledger.wall_clock or guard.ledger.clock)
    return replace(guard, platform=platform, ledger=ledger), clock


def pilot_controller(plan: PilotPlan, agent: PilotAgent, *, revised_days: int) -> Controller:
    """The controller of a plan's campaigns; all begin with the first day."""
    segments = max(len(campaign.targets) for campaign in plan.campaigns)
    if agent.known.brief.persona.shape != (len(plan.campaigns), segments):
        raise BadInput(
            f"the agent knows {agent.known.brief.persona.shape} campaigns x segments; allowed: those of the plan,"
            f" {(len(plan.campaigns), segments)}, in its order"
        )
    reference = np.full((len(plan.campaigns), segments), plan.bid_ceiling_micros, np.int64)
    for row, campaign in enumerate(plan.campaigns):
        reference[row, : len(campaign.targets)] = campaign.reference_bids_micros
    rules = BidRules(reference_factor=plan.reach, ceiling_micros=plan.bid_ceiling_micros)
    runs = CampaignHours.same(len(plan.campaigns), _DAY_HOURS * plan.days)
    hours = _DAY_HOURS * (revised_days + 1)
    return Controller(agent.policy, agent.known, reference, agent.market, rules, runs=runs, revised_hours=hours)


def prepare_run(
    guard: Guard,
    plan: PilotPlan,
    agent: PilotAgent,
    *,
    mandate: str,
    run_id: str,
    place: Place,
    timekeeper: Timekeeper,
    budget: BudgetSettings,
    settings: PilotSettings,
    wall_clock: Clock,
    make_controller: MakeController = lambda agent, _: agent,
    decide_hours: int = 1,
    whole_read_days: int = 1,
    stop_rules: StopRules | None = None,
    evidence: Callable[[PilotPlaces], EvidenceRows] | None = None,
    on_interval: Callable[[int], None] = lambda _: None,
    interrupted: Callable[[], bool] = lambda: False,
) -> PilotRun:
    """A run that can start or resume; close its book after use."""
    guard, clock = pilot_guard(guard, timekeeper, whole_read_days)
    book = DecisionBook(place, plan.name)
    places = PilotPlaces.of(plan, pilot_begins(plan))
    looker = Looker(plan, places, guard, book, reads_all=clock is None)
    sending = SendingRules(
        worth=settings.bid_change_worth,
        calls_a_day=settings.calls_a_day,
        unit_micros=guard.terms.step_micros,
    )
    brief = agent.known.brief
    value = int(np.mean([campaign.conversion_value_micros for campaign in plan.campaigns]))
    rules = stop_rules or StopRules(loss_cap_micros=plan.loss_cap_micros, looks=plan.days)
    controller = pilot_controller(plan, agent, revised_days=guard.terms.revised_days)
    return PilotRun(
        plan=plan,
        places=places,
        guard=guard,
        budget=budget,
        book=book,
        lease=AccountLease(book, plan.account, run_id, wall_clock, this_process()),
        timekeeper=timekeeper,
        controller=make_controller(controller, looker),
        looker=looker,
        actor=Actor(guard, book, PilotOrders(plan, mandate, run_id), places, sending, _spend_weight(agent, plan)),
        watch=StopWatch(
            plan=plan,
            guard=guard,
            book=book,
            looker=looker,
            rules=rules,
            maturing=Maturing.of_market(agent.market.spec, brief.conversion_rate, value),
            mandate=mandate,
            outside=agent.outside,
        ),
        clock=clock,
        evidence=None if evidence is None else evidence(places),
        decide_hours=decide_hours,
        on_interval=on_interval,
        interrupted=interrupted,
    )


def _spend_weight(agent: PilotAgent, plan: PilotPlan) -> Floats:
    """Expected spend of an hour by segment, (N, S): clicks that are there, at the usual bid."""
    brief = agent.known.brief
    bids = np.zeros(brief.persona.shape)
    for row, campaign in enumerate(plan.campaigns):
        bids[row, : len(campaign.targets)] = campaign.reference_bids_micros
    return np.asarray(brief.volume_forecast * agent.known.click_rate * bids, np.float64)
