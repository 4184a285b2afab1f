"""The composition root of the ledger, the emergency stop and the episode store: builds parts, decides nothing.

It imports no platform, because `gaelp kill` must not wait for parts that it does not need: see `guard_bootstrap.py`.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gaelp.budget.kill_switch import KillSwitch, fence_at, fence_of
from gaelp.budget.latch import LATCH_NAME, Latch
from gaelp.budget.ledger import Ledger, ledger_place, open_ledger
from gaelp.budget.violations import ViolationStore, violations_place
from gaelp.clock import Clock
from gaelp.config.places import absolute
from gaelp.config.settings import Settings

if TYPE_CHECKING:
    from gaelp.storage.store import EpisodeStore

__all__ = [
    "kill_switch",
    "latch",
    "open_books",
    "open_store",
    "should_have_books",
    "violations",
]


def open_books(settings: Settings, clock: Clock | None = None, *, wall_clock: Clock | None = None) -> Ledger:
    """Open the ledger of these settings, which must exist; close it after use.

    Days and costs follow `clock`, signatures and stops `wall_clock`; without the second both follow the first.
    """
    return open_ledger(ledger_place(settings), latch(settings), clock=clock, wall_clock=wall_clock)


def open_store(settings: Settings) -> "EpisodeStore":
    """Open the store of episode data of these settings, made where it is missing; close it after use."""
    # Not at the top: Arrow and DuckDB take half a second, which must not delay `gaelp kill`.
    from gaelp.storage.backends import build_store  # noqa: PLC0415 - see above

    return build_store(settings)


def kill_switch(settings: Settings, clock: Clock | None = None, *, read_with: Ledger | None = None) -> KillSwitch:
    """The kill switch of these settings; ledger and platform are opened only when needed.

    Whoever has the ledger open reads the fence with it: an order asks several times, and opening takes longer than
    reading. A stop opens the ledger itself in any case.
    """
    fence = fence_at(lambda: open_books(settings)) if should_have_books(settings) else None
    if fence is not None and read_with is not None:
        fence = replace(fence, read=fence_of(read_with).read)
    return KillSwitch(
        latch(settings),
        fence=fence,
        pause=(lambda: _pause_everything(settings)) if settings.platform.name else None,
        clock=clock,
        why_no_fence=_no_ledger(settings),
    )


def violations(settings: Settings) -> ViolationStore:
    """The record of violations."""
    return ViolationStore(violations_place(settings))


def latch(settings: Settings) -> Latch:
    """The file whose existence means stop."""
    return Latch(absolute(settings.home) / LATCH_NAME)


def _no_ledger(settings: Settings) -> str:
    return (
        f"there is no ledger in {absolute(settings.home)}; if it is in PostgreSQL, set"
        " GAELP__BUDGET__DATABASE_URL, if it is in another folder, GAELP_HOME"
    )


def should_have_books(settings: Settings) -> bool:
    """Whether there is a ledger or must be one; True if that cannot be determined.

    Settings with an account mean money: a missing ledger is then lost, not yet to be created.
    """
    place = ledger_place(settings)
    if not isinstance(place, Path) or settings.platform.account is not None:
        return True
    try:
        return place.exists()
    except OSError:
        return True


def _pause_everything(settings: Settings) -> None:
    # Not at the top: this import takes a second, which must not delay the latch and the fence.
    from gaelp.platforms.emergency_pause import pause_everything  # noqa: PLC0415 - see above

    pause_everything(settings, lambda: open_books(settings))
