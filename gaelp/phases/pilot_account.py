"""The ad account of a pilot: the local ad platform that continues the history, or the one that the settings name."""

from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.types import Phase

__all__ = ["check_pilot"]

_BEFORE = (Phase.SIMULATION, Phase.HISTORY)


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
