"""The ad account of a pilot: the local ad platform that continues the history, or the one that the settings name."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date

from gaelp.approvals import trusted_approvers
from gaelp.authority.audit_records import open_approvals
from gaelp.authority.mandates import revoke_mandate
from gaelp.bootstrap import kill_switch
from gaelp.budget.ledger import AdAccount, known_account
from gaelp.budget.platform_budget import load_platform_terms
from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.guard_bootstrap import create_books, open_platform_books, platform_world
from gaelp.phases.run_folder import PhaseFolder
from gaelp.pilot.local_account import running_local_account
from gaelp.pilot.mandate_signing import require_mandate
from gaelp.pilot.pilot_budgets import with_campaign_budgets
from gaelp.pilot.pilot_limits import provide_limits
from gaelp.pilot.pilot_plan import PilotPlan
from gaelp.pilot.timekeeper import SandboxTime, Timekeeper, WallTime
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.platform_clock import ledger_clock
from gaelp.sandbox.control_messages import SandboxSale
from gaelp.types import Phase

__all__ = ["AllowedSpending", "PilotAccount", "allow_spending", "check_pilot", "end_mandate", "opened_account"]

_BEFORE = (Phase.SIMULATION, Phase.HISTORY)


@dataclass(frozen=True, slots=True)
class PilotAccount:
    """Where a pilot runs: settings that lead to the platform, the account, and who lets time pass."""

    settings: Settings
    account: AdAccount
    timekeeper: Timekeeper
    feed: Callable[[date, date], Sequence[SandboxSale]] | None = None  # the shop's own sales; none: imported by people


@dataclass(frozen=True, slots=True)
class AllowedSpending:
    """Settings with the plan's budgets, and the id of the mandate that is in force."""

    settings: Settings
    mandate: str


def check_pilot(settings: Settings) -> None:
    """Raise BadInput where a run would reach phase 3 without an ad platform; hours of work come before it."""
    if settings.run.until in _BEFORE:
        return
    if settings.pilot.local:
        if settings.platform.name:
            raise BadInput(
                f"pilot.local=true and platform.name={settings.platform.name}; allowed: one of them. Pilot on the local"
                " ad platform, or on the one that is named"
            )
        if settings.history.synthesize is None:
            raise BadInput(
                "pilot.local=true needs a history of the local ad platform, and history.synthesize is not set: set it"
                " (such as history.synthesize.weeks=9), or name an ad platform (docs/go-live.md)"
            )
    elif not (settings.platform.name and settings.pilot.adverts):
        raise BadInput(
            "phase 3 spends a small budget on an ad platform: name one (platform.name) and its adverts (pilot.adverts),"
            " as docs/go-live.md shows; or use the local one (--set pilot.local=true, with history.synthesize), or end"
            " the run before it (--set run.until=history)"
        )


@contextmanager
def opened_account(settings: Settings, folder: PhaseFolder, clock: Clock) -> Iterator[PilotAccount]:
    """The account of a pilot while inside; the local platform runs in the attempt's folder and ends with the block."""
    if not settings.pilot.local:
        platform = connect_platform(settings)
        with closing(open_platform_books(settings)) as ledger:
            account = known_account(ledger, str(settings.platform.account))
        yield PilotAccount(settings, account, WallTime(ledger_clock(platform, clock)))
        return
    with running_local_account(settings, folder.path / "platform", pilot=folder.run_id) as local:
        create_books(local.settings, local.account, SandboxTime(local.platform)).close()
        yield PilotAccount(local.settings, local.account, SandboxTime(local.platform), local.platform.sales)


def allow_spending(account: PilotAccount, plan: PilotPlan, options: str = "") -> AllowedSpending:
    """Limits and mandate of the plan: set where no real money can move, otherwise WaitingForPerson asks for them.

    `options` are what a further command needs to have the same settings.
    """
    settings = with_campaign_budgets(account.settings, plan)
    world = platform_world(settings)
    terms = load_platform_terms().of(str(settings.platform.name))
    with closing(open_platform_books(settings)) as ledger:
        provide_limits(settings, world, ledger, plan, terms, options=options)
        mandate = require_mandate(
            settings,
            world,
            ledger,
            open_approvals(settings),
            plan,
            terms,
            trusted_approvers(settings),
            stop=kill_switch(settings).state(),
            options=options,
        )
    return AllowedSpending(settings, mandate)


def end_mandate(allowed: AllowedSpending, why: str) -> None:
    """Revoke a mandate that must not be used any more; what was never spent needs no authority."""
    with closing(open_platform_books(allowed.settings)) as ledger:
        revoke_mandate(ledger, open_approvals(allowed.settings), allowed.mandate, why)
