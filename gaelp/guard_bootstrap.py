"""The composition root of spending: builds platform, guard and authority from settings, decides nothing."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from gaelp.approvals import ApprovalStore, approvals_place, load_policy, load_trust
from gaelp.approvals.action import LiveOrSandbox
from gaelp.approvals.trust import trust_place
from gaelp.bootstrap import kill_switch, latch, open_books, violations
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
)
from gaelp.budget.platform_budget import load_platform_terms
from gaelp.clock import Clock, SystemClock
from gaelp.config import known_secrets
from gaelp.config.places import absolute
from gaelp.config.private_files import make_private_folder
from gaelp.config.settings import Settings
from gaelp.content import ReviewQueue, load_checker
from gaelp.content.review_queue import reviews_place
from gaelp.errors import BadInput, GaelpError, Refused
from gaelp.observability import register_secrets
from gaelp.observability.alert_routes import open_dispatcher
from gaelp.observability.alerts import Channel
from gaelp.platforms import AdPlatform, Authority, Guard, create_hour_book, create_order_book
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.platform_clock import ledger_clock

__all__ = ["create_books", "open_platform_books", "opened_guard", "platform_world"]


def create_books(settings: Settings, account: AdAccount, clock: Clock | None = None) -> Ledger:
    """Open the ledger with its order book and this account, creating what is missing; close it after use."""
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


@contextmanager
def opened_guard(
    settings: Settings, *, clock: Clock | None = None, more_channels: Sequence[Channel] = ()
) -> Iterator[Guard]:
    """The door to money of these settings, fully connected; its ledger is closed at the end.

    In a sandbox the ledger follows the platform's time. People sign, stop and are alerted by `clock`.
    """
    register_secrets(known_secrets())  # before anything can fail: a platform's error may contain one
    clock = clock or SystemClock()
    platform = connect_platform(settings)
    authority = _authority(settings, platform, clock)
    with closing(open_books(settings, ledger_clock(platform, clock), wall_clock=clock)) as ledger:
        account = known_account(ledger, str(settings.platform.account))
        create_order_book(ledger)  # upgrades that of an older home
        yield Guard(
            platform=platform,
            account=account,
            terms=load_platform_terms().of(platform.name),
            day_cap_micros=_day_cap_micros(ledger, account),
            ledger=ledger,
            switch=kill_switch(settings, clock, read_with=ledger),
            authority=authority,
            judge=load_checker(),
            reviews=ReviewQueue(reviews_place(settings), clock),
            violations=violations(settings),
            alerts=open_dispatcher(settings, clock, more=more_channels),
            bid_change_percent=settings.budget.bid_change_percent,
        )


def open_platform_books(settings: Settings) -> Ledger:
    """Open the ledger as `opened_guard` does, for commands that read days or change limits; close it after use.

    A platform that is not named, not installed or does not answer counts as live: its time is wall time.
    """
    wall_clock = SystemClock()
    clock: Clock = wall_clock
    if settings.platform.name:
        register_secrets(known_secrets())
        with suppress(GaelpError):
            clock = ledger_clock(connect_platform(settings), wall_clock)
    return open_books(settings, clock, wall_clock=wall_clock)


def platform_world(settings: Settings) -> LiveOrSandbox:
    """Whether real money can move on the platform of these settings; without a platform it cannot."""
    return connect_platform(settings).world if settings.platform.name else "sandbox"


def _day_cap_micros(ledger: Ledger, account: AdAccount) -> int:
    limit = known_limit(ledger, Cap(CapKind.ACCOUNT_DAY, account.id))
    if limit is None:
        raise BadInput(
            f"account {account.id} has no limit for a day, so nothing may be spent:"
            f" `gaelp ledger limit account_day {account.id} AMOUNT` sets one"
        )
    return limit.micros


def _authority(settings: Settings, platform: AdPlatform, clock: Clock) -> Authority:
    policy, trusted = load_policy(settings.approvals.policy), trust_place(settings)
    if policy.sandbox and platform.world == "live":
        raise Refused(
            f"approvals.policy: {settings.approvals.policy} accepts names without signatures, but real money can move"
            f" on {platform.name}: choose a policy with sandbox: false, such as live"
        )
    return Authority(ApprovalStore(approvals_place(settings), clock), policy, lambda: load_trust(trusted))
