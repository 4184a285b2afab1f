"""Carry out a pilot's decisions through the guard: what a campaign needs to run, and the bids that are worth a call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gaelp.arrays import Floats, Ints
from gaelp.budget.ledger import SpendingStopped
from gaelp.content import creative_hash
from gaelp.errors import BadInput, GaelpError, Refused, WaitingForPerson
from gaelp.pilot.bid_choice import BidChoice, CallQuota, SendingRules, choose_bids
from gaelp.pilot.book_schema import OrderWord
from gaelp.pilot.controller import Decision
from gaelp.pilot.decision_book import CampaignDecision, DecisionBook, OrderNote
from gaelp.pilot.looking import Look
from gaelp.pilot.pilot_orders import PilotOrders
from gaelp.pilot.pilot_plan import PilotCampaign
from gaelp.pilot.report_arrays import PilotPlaces, target_bids
from gaelp.pilot.stops import StopReason
from gaelp.platforms import Guard, Order, guarded_all
from gaelp.platforms.bid_steps import bid_bounds
from gaelp.platforms.order import OrderKind
from gaelp.platforms.platform import CampaignState, Done, Rejected, Unknown

__all__ = ["Actor"]

_DAY_HOURS = 24
_NO_BOUND = 10**15
_WAVES: tuple[OrderKind, ...] = ("budget", "publish", "bid", "enable")  # each depends on those before
_NOT_SENT = ("its reservation is", "it left no trace", "not sent:", "it never got its room")
_SENT: tuple[OrderWord, ...] = ("sent", "unknown", "rejected")


@dataclass(slots=True)
class Actor:
    """Sends the orders of one pilot; `spend_weight` (N, S) is the expected spend of an hour."""

    guard: Guard
    book: DecisionBook
    orders: PilotOrders
    places: PilotPlaces
    rules: SendingRules
    spend_weight: Floats
    has_unknown: bool = False

    # Choosing

    def choose(self, look: Look, decision: Decision) -> BidChoice:
        """Which bids to order in this hour."""
        in_force = target_bids(look.states, self.places)
        wanted = in_force.copy()
        wanted[decision.rows] = decision.bids.bid_micros
        wanted = np.where(self._present(), wanted, in_force)
        running = np.zeros(len(wanted), np.bool_)
        running[decision.rows] = True
        for name in look.held:
            running[self.places.campaigns[name]] = False
        quota = CallQuota(
            self.rules, len(wanted), self._used_today(decision.hour), _DAY_HOURS - decision.hour % _DAY_HOURS
        )
        return choose_bids(wanted, in_force, self._limits, self.spend_weight, running, quota)

    def _limits(self, row: int) -> tuple[Ints, Ints]:
        """How far the guard lets the bids of a campaign move now, (S,)."""
        campaign = self.orders.plan.campaigns[row]
        least, most = np.zeros(self.places.shape[1], np.int64), np.full(self.places.shape[1], _NO_BOUND)
        for target, bound in bid_bounds(self.guard, campaign.name, campaign.targets).items():
            column = self.places.targets[row][target]
            least[column], most[column] = bound.least_micros, bound.most_micros
        return least, most

    def _present(self) -> np.ndarray:
        counts = np.array([len(targets) for targets in self.places.targets])
        return np.arange(self.places.shape[1])[None, :] < counts[:, None]

    def _used_today(self, hour: int) -> int:
        first = hour - hour % _DAY_HOURS
        sent = sum(note.word in _SENT for note in self.book.orders(first))
        return sent * (self.places.shape[1] + 1)

    # Acting

    def act(self, decided: Sequence[CampaignDecision], hour: int) -> StopReason | None:
        """Send the orders of an interval; a reason to stop if one was refused."""
        states = {state.campaign: state for state in self.guard.platform.read_campaigns()}
        held = self.book.held()
        plan = {campaign.name: campaign for campaign in self.orders.plan.campaigns}
        notes = {each.campaign: OrderNote(each.campaign, hour, _word(each.why_not)) for each in decided}
        notes |= {name: OrderNote(name, hour, "held", detail=why) for name, why in held.items() if name in notes}
        waves: dict[OrderKind, list[Order]] = {kind: [] for kind in _WAVES}
        for decision in decided:
            if decision.campaign not in held:
                campaign = _with_budget(plan[decision.campaign], decision)
                for order in self._needed(campaign, decision, states.get(decision.campaign), hour):
                    waves[order.kind].append(order)
        try:
            for orders in waves.values():
                self._send(orders, notes, hour)
        except SpendingStopped as stopped:
            return StopReason("kill-switch", str(stopped))
        except (BadInput, Refused, WaitingForPerson) as refusal:
            return StopReason("refused-action", str(refusal))
        finally:
            self.book.note_orders(list(notes.values()))
        return None

    def _send(self, orders: Sequence[Order], notes: dict[str, OrderNote], hour: int) -> None:
        """Orders of one kind, of campaigns whose earlier orders are done; what follows depends on them."""
        orders = [order for order in orders if notes[order.campaign].word not in ("unknown", "rejected")]
        for order, outcome in zip(orders, guarded_all(self.guard, orders), strict=True):
            match outcome:
                case Done():
                    notes[order.campaign] = OrderNote(order.campaign, hour, "sent", order.key)
                case Unknown(what):
                    self.has_unknown = True
                    notes[order.campaign] = OrderNote(order.campaign, hour, "unknown", order.key, what)
                case Rejected(why):
                    if not why.startswith(_NOT_SENT):
                        raise Refused(f"the platform refused {order.key}: {why}")
                    notes[order.campaign] = OrderNote(order.campaign, hour, "rejected", order.key, why)
                case GaelpError():
                    notes[order.campaign] = OrderNote(order.campaign, hour, "refused", order.key, str(outcome))
                    raise outcome

    def _needed(
        self, campaign: PilotCampaign, decision: CampaignDecision, state: CampaignState | None, hour: int
    ) -> Iterator[Order]:
        """Budget and advert where they are missing, bids that are worth it, and last the campaign itself."""
        orders = self.orders
        if (state is None or not state.bids) and not decision.order:
            return  # its turn comes when the quota has room
        if state is None or state.through < self.guard.today() or state.daily_micros != campaign.daily_micros:
            yield orders.budget(campaign, hour)
        if state is None or creative_hash(campaign.creative) not in state.creatives:
            yield orders.publish(campaign, hour)
        if decision.order:
            yield orders.bid(campaign, hour, decision.order)
        if state is None or state.status == "paused":
            yield orders.enable(campaign, hour)

    def note_late(self, decided: Sequence[CampaignDecision]) -> None:
        """Decisions whose hour is over: what was not sent then is not sent any more."""
        self.book.note_orders([OrderNote(each.campaign, each.interval, "late") for each in decided])


def _with_budget(campaign: PilotCampaign, decision: CampaignDecision) -> PilotCampaign:
    """The campaign with the budget that was decided for the day."""
    if not decision.daily_micros:
        return campaign
    return campaign.model_copy(update={"daily_micros": decision.daily_micros})


def _word(why_not: str) -> OrderWord:
    return "quota" if why_not == "quota" else "small" if why_not == "small" else "same"
