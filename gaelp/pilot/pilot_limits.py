"""The ledger's limits that a plan needs: set where no real money can move, else asked for from people."""

from collections.abc import Iterator

from gaelp.approvals import load_policy
from gaelp.approvals.action import LiveOrSandbox
from gaelp.approvals.policy import policy_name
from gaelp.approvals.trust import Trust
from gaelp.authority.limit_changes import change_limit
from gaelp.authority.signatures import Signer
from gaelp.budget.ledger import Cap, CapKind, Ledger, known_limit, overview
from gaelp.budget.platform_budget import Overdelivery, day_worst_micros
from gaelp.config.settings import Settings
from gaelp.errors import WaitingForPerson
from gaelp.money import Money
from gaelp.pilot.pilot_plan import PilotPlan

__all__ = ["needed_limits", "provide_limits"]

_TOTAL = Cap(CapKind.TOTAL, "all")


def needed_limits(ledger: Ledger, plan: PilotPlan, terms: Overdelivery) -> dict[Cap, Money]:
    """The least limits under which the whole plan can be carried out, the platform's overdelivery included."""
    return dict(_needed(ledger, plan, terms))


def provide_limits(
    settings: Settings, world: LiveOrSandbox, ledger: Ledger, plan: PilotPlan, terms: Overdelivery, *, options: str = ""
) -> None:
    """Raise the limits that are too low for the plan; WaitingForPerson with the commands if that takes signatures.

    `options` are what the commands need to have the same settings. Higher limits are kept: the mandate bounds the plan.
    """
    missing = {
        cap: limit
        for cap, limit in needed_limits(ledger, plan, terms).items()
        if (known := known_limit(ledger, cap)) is None or known < limit
    }
    if not missing:
        return
    if not load_policy(policy_name(settings, world)).sandbox:
        raise WaitingForPerson(
            "the plan needs limits in the ledger that only signatures can set; those who approve run each of"
            f" {'; '.join(_command(plan, cap, limit, options) for cap, limit in missing.items())}"
        )
    for cap, limit in missing.items():
        owner = "" if cap.kind is CapKind.TOTAL else plan.account
        change_limit(settings, lambda: world, ledger, cap, limit, _nobody, account_id=owner)


def _needed(ledger: Ledger, plan: PilotPlan, terms: Overdelivery) -> Iterator[tuple[Cap, Money]]:
    def money(micros: int) -> Money:
        return Money(micros, plan.currency)

    worst_day = plan.day_worst_micros(terms)
    used = _used_by_others(ledger, plan)
    yield _TOTAL, money(used[CapKind.TOTAL] + worst_day * plan.days)
    yield Cap(CapKind.ACCOUNT, plan.account), money(used[CapKind.ACCOUNT] + worst_day * plan.days)
    yield Cap(CapKind.ACCOUNT_DAY, plan.account), money(worst_day)
    for campaign in plan.campaigns:
        own_day = day_worst_micros(plan.highest_daily_micros(campaign), terms)
        yield Cap(CapKind.CAMPAIGN, campaign.name), money(own_day * plan.days)
        yield Cap(CapKind.CAMPAIGN_DAY, campaign.name), money(own_day)


def _used_by_others(ledger: Ledger, plan: PilotPlan) -> dict[CapKind, int]:
    """What is reserved and spent of the total and of the account by campaigns that are not in the plan."""
    used, own = {CapKind.TOTAL: 0, CapKind.ACCOUNT: 0}, 0
    names = {campaign.name for campaign in plan.campaigns}
    for cap in overview(ledger).caps:
        micros = cap.reserved_micros + cap.posted_micros
        if cap.kind == CapKind.TOTAL:
            used[CapKind.TOTAL] += micros
        elif cap.kind == CapKind.ACCOUNT and cap.subject == plan.account:
            used[CapKind.ACCOUNT] += micros
        elif cap.kind == CapKind.CAMPAIGN and cap.subject in names:
            own += micros
    return {kind: max(micros - own, 0) for kind, micros in used.items()}


def _command(plan: PilotPlan, cap: Cap, limit: Money, options: str) -> str:
    whose = f" --currency {plan.currency}" if cap.kind is CapKind.TOTAL else f" --account {plan.account}"
    return f"`gaelp ledger limit {cap.kind} {cap.subject} '{limit}'{whose} --key FILE --reason WHY{options}`"


def _nobody() -> Signer:
    """No key: the policy of the sandbox asks for none."""
    return Signer(Trust(), None, "")
