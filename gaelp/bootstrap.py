"""The composition root of what guards money: from settings to connected parts; nothing here decides anything.

What is heavy is imported inside the functions: `gaelp kill` must not wait for parts that it does not need.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gaelp.budget.kill_switch import KillSwitch, fence_at, told_for_a_stop
from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import (
    AdAccount,
    Cap,
    CapKind,
    Ledger,
    create_ledger,
    known_account,
    known_limit,
    ledger_place,
    open_account,
    open_ledger,
)
from gaelp.clock import Clock, SystemClock
from gaelp.config.places import absolute
from gaelp.config.private_files import make_private_folder
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, GaelpError, Refused

if TYPE_CHECKING:
    from gaelp.approvals.action import World
    from gaelp.budget.violations import ViolationStore
    from gaelp.observability.alerts import Channel
    from gaelp.platforms import AdPlatform, Authority, Guard

__all__ = [
    "create_books",
    "kill_switch",
    "latch",
    "open_books",
    "opened_guard",
    "platform_world",
    "should_have_books",
    "violations",
]


def open_books(settings: Settings, clock: Clock | None = None) -> Ledger:
    """The ledger of these settings, which has to be there; close it after use."""
    return open_ledger(ledger_place(settings), latch(settings), clock=clock)


def create_books(settings: Settings, account: AdAccount, clock: Clock | None = None) -> Ledger:
    """The ledger with its books and this account in it, each made where it is missing; close it after use."""
    from gaelp.platforms import create_hour_book, create_order_book  # noqa: PLC0415 - see the top

    make_private_folder(absolute(settings.home))
    ledger = create_ledger(ledger_place(settings), latch(settings), clock=clock)
    try:
        create_order_book(ledger)
        create_hour_book(ledger)
        open_account(ledger, account)
    except BaseException:
        ledger.close()
        raise
    return ledger


def kill_switch(settings: Settings, clock: Clock | None = None) -> KillSwitch:
    """The kill switch of these settings; ledger and platform are opened only when their turn comes."""
    return KillSwitch(
        latch(settings),
        fence=fence_at(lambda: open_books(settings)) if should_have_books(settings) else None,
        pause=(lambda: _pause_everything(settings)) if settings.platform.name else None,
        clock=clock,
        why_no_fence=_no_ledger(settings),
    )


@contextmanager
def opened_guard(
    settings: Settings, *, clock: Clock | None = None, more_channels: Sequence["Channel"] = ()
) -> Iterator["Guard"]:
    """The one door to money of these settings, with everything behind it; its ledger is closed at the end."""
    from gaelp.budget.platform_budget import load_platform_terms  # noqa: PLC0415 - see the top
    from gaelp.config import known_secrets  # noqa: PLC0415 - as above
    from gaelp.content import ReviewQueue, load_checker  # noqa: PLC0415 - as above
    from gaelp.content.review_queue import reviews_place  # noqa: PLC0415 - as above
    from gaelp.observability import register_secrets  # noqa: PLC0415 - as above
    from gaelp.observability.alert_routes import open_dispatcher  # noqa: PLC0415 - as above
    from gaelp.platforms import Guard, create_order_book  # noqa: PLC0415 - as above
    from gaelp.platforms.catalog import connect_platform  # noqa: PLC0415 - as above

    register_secrets(known_secrets())  # before anything can fail: what a platform raises may hold one
    clock = clock or SystemClock()
    platform = connect_platform(settings)
    with closing(open_books(settings, clock)) as ledger:
        account = known_account(ledger, str(settings.platform.account))
        create_order_book(ledger)  # one of an older home is brought up to date
        yield Guard(
            platform=platform,
            account=account,
            terms=load_platform_terms().of(platform.name),
            day_cap_micros=_day_cap_micros(ledger, account),
            ledger=ledger,
            switch=kill_switch(settings, clock),
            authority=_authority(settings, platform, clock),
            judge=load_checker(),
            reviews=ReviewQueue(reviews_place(settings), clock),
            violations=violations(settings),
            alerts=open_dispatcher(settings, clock, more=more_channels),
        )


def violations(settings: Settings) -> "ViolationStore":
    """The record of what went wrong with money."""
    from gaelp.budget.violations import ViolationStore, violations_place  # noqa: PLC0415 - see the top

    return ViolationStore(violations_place(settings))


def platform_world(settings: Settings) -> "World":
    """Whether real money can move on the platform of these settings; where none is named, it cannot."""
    from gaelp.platforms.catalog import connect_platform  # noqa: PLC0415 - see the top

    return connect_platform(settings).world if settings.platform.name else "sandbox"


def latch(settings: Settings) -> Latch:
    """The file whose existence means stop."""
    return Latch(absolute(settings.home) / LATCH_NAME)


def _no_ledger(settings: Settings) -> str:
    return (
        f"there is no ledger in {absolute(settings.home)}; if the books are in PostgreSQL, set"
        " GAELP__BUDGET__DATABASE_URL, if they are in another folder, GAELP_HOME"
    )


def should_have_books(settings: Settings) -> bool:
    """Whether there is a ledger, or has to be one; where it cannot be told, there has to be.

    Settings that name an account mean money: a ledger that is not there is then lost, and not yet to be begun.
    """
    place = ledger_place(settings)
    if not isinstance(place, Path) or settings.platform.account is not None:
        return True
    try:
        return place.exists()
    except OSError:
        return True


def _pause_everything(settings: Settings) -> None:
    """Pause what the platform lists; where that fails, what the order book knows as well.

    If the order book cannot be read either, both are told, and first which campaigns may still run.
    """
    from gaelp.checks.raised import in_words  # noqa: PLC0415 - as above
    from gaelp.platforms import pause_all  # noqa: PLC0415 - see the top
    from gaelp.platforms.catalog import connect_platform  # noqa: PLC0415 - as above
    from gaelp.platforms.order_book import known_campaigns  # noqa: PLC0415 - as above

    platform = connect_platform(settings)
    try:
        pause_all(platform)
    except GaelpError as trouble:
        # Only now: a database that is busy or gone must not hold up the pause.
        try:
            with told_for_a_stop("name the campaigns that it knows"), closing(open_books(settings)) as ledger:
                known = known_campaigns(ledger, str(settings.platform.account))
        except Exception as problem:  # whatever it is, it must not hide what may still run
            why = str(problem) if isinstance(problem, GaelpError) else in_words(problem)
            raise GaelpError(f"{trouble}; what else may run could not be looked up ({why})") from problem
        pause_all(platform, known)


def _day_cap_micros(ledger: Ledger, account: AdAccount) -> int:
    limit = known_limit(ledger, Cap(CapKind.ACCOUNT_DAY, account.id))
    if limit is None:
        raise BadInput(
            f"account {account.id} has no limit for a day, so nothing may be spent:"
            f" `gaelp ledger limit account_day {account.id} AMOUNT` sets one"
        )
    return limit.micros


def _authority(settings: Settings, platform: "AdPlatform", clock: Clock) -> "Authority":
    from gaelp.approvals import ApprovalStore, approvals_place, load_policy, load_trust  # noqa: PLC0415 - see the top
    from gaelp.approvals.trust import trust_place  # noqa: PLC0415 - as above
    from gaelp.platforms import Authority  # noqa: PLC0415 - as above

    policy, trusted = load_policy(settings.approvals.policy), trust_place(settings)
    if policy.sandbox and platform.world == "live":
        raise Refused(
            f"approvals.policy: {settings.approvals.policy} takes names without signatures, and real money can move on"
            f" {platform.name}: choose a policy with sandbox: false, such as live"
        )
    return Authority(ApprovalStore(approvals_place(settings), clock), policy, lambda: load_trust(trusted))
