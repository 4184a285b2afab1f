"""Pausing, which always passes: no approval, no reservation, no ledger, no kill switch stands before it."""

import uuid
from collections.abc import Callable, Iterable
from functools import partial

from gaelp.errors import GaelpError
from gaelp.platforms.platform import AdPlatform, Done, Outcome, Unknown

__all__ = ["attempt", "pause", "pause_all"]

_ATTEMPTS = 3


def attempt(call: Callable[[], Outcome]) -> Outcome:
    """The platform's answer; whatever it raises leaves the outcome unknown."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - an error on the way says nothing about what has arrived
        return Unknown(f"{type(error).__name__}: {error}")


def pause(platform: AdPlatform, campaign: str) -> Outcome:
    """Pause one campaign; tried again with a new key while the outcome is unknown, for pausing twice does no harm."""
    outcome: Outcome = Unknown("not tried")
    for _ in range(_ATTEMPTS):
        key = f"pause/{campaign}/{uuid.uuid4().hex}"
        outcome = attempt(partial(platform.pause, campaign, key=key))
        if not isinstance(outcome, Unknown):
            break
    return outcome


def pause_all(platform: AdPlatform, known: Iterable[str] = ()) -> None:
    """Pause every campaign, those on the platform and those known here; raises if any may still be running.

    A list that cannot be read keeps none of the known ones from being paused.
    """
    names, trouble = dict.fromkeys(known), []
    try:
        names |= dict.fromkeys(state.campaign for state in platform.read_campaigns() if state.status == "enabled")
    except Exception as error:  # noqa: BLE001 - whatever it is, the known ones are paused first and then it is told
        trouble.append(f"the list of campaigns could not be read ({type(error).__name__}: {error})")
    for campaign in names:
        outcome = pause(platform, campaign)
        if not isinstance(outcome, Done):
            trouble.append(f"{campaign}: {outcome}")
    if trouble:
        raise GaelpError(f"not everything is paused ({'; '.join(trouble)}): pause it on the platform by hand, now")
