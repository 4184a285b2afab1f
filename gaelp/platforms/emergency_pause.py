"""Pause every campaign of a platform for an emergency stop, also what only the order book knows."""

from collections.abc import Callable
from contextlib import closing

from gaelp.budget.kill_switch import told_for_a_stop
from gaelp.budget.ledger import Ledger
from gaelp.checks.raised import in_words
from gaelp.config.settings import Settings
from gaelp.errors import GaelpError
from gaelp.platforms.catalog import connect_platform
from gaelp.platforms.order_book import known_campaigns
from gaelp.platforms.pausing import pause_all

__all__ = ["pause_everything"]


def pause_everything(settings: Settings, open_books: Callable[[], Ledger]) -> None:
    """Pause what the platform lists; where that fails, what the order book knows as well.

    If the order book cannot be read either, both problems are reported, and first which campaigns may still run.
    """
    platform = connect_platform(settings)
    try:
        pause_all(platform)
    except GaelpError as trouble:
        # Only now: a database that is busy or gone must not hold up the pause.
        try:
            with told_for_a_stop("name the campaigns that it knows"), closing(open_books()) as ledger:
                known = known_campaigns(ledger, str(settings.platform.account))
        except Exception as problem:  # whatever it is, it must not hide what may still run
            why = str(problem) if isinstance(problem, GaelpError) else in_words(problem)
            raise GaelpError(f"{trouble}; what else may run could not be looked up ({why})") from problem
        pause_all(platform, known)
