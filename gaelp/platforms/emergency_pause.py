"""Pause every campaign for an emergency stop: those the platform lists, or else those in the order book too."""

from collections.abc import Callable
from contextlib import closing

from gaelp.budget.kill_switch import as_stop_failure
from gaelp.budget.ledger import Ledger
from gaelp.checks.raised import in_words
from gaelp.config.settings import Settings
from gaelp.errors import GaelpError
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.order_book import known_campaigns
from gaelp.platforms.pausing import pause_all

__all__ = ["pause_everything"]


def pause_everything(settings: Settings, open_books: Callable[[], Ledger]) -> None:
    """Pause what the platform lists; if that fails, also what the order book lists.

    If the order book cannot be read either, both problems are reported, starting with the campaigns that may still run.
    """
    platform = connect_platform(settings)
    try:
        pause_all(platform)
    except GaelpError as trouble:
        # Only now: a busy or unreachable database must not delay the pause.
        try:
            with as_stop_failure("list its campaigns"), closing(open_books()) as ledger:
                known = known_campaigns(ledger, str(settings.platform.account))
        except Exception as problem:  # no error may hide which campaigns may still run
            why = str(problem) if isinstance(problem, GaelpError) else in_words(problem)
            raise GaelpError(f"{trouble}; the order book could not be read for other campaigns ({why})") from problem
        pause_all(platform, known)
