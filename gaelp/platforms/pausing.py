"""Pausing is never refused: it needs no approval, reservation, ledger or kill switch."""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple

from gaelp.checks.raised import ends_the_program, in_words, shown
from gaelp.errors import GaelpError
from gaelp.platforms.calling import attempt
from gaelp.platforms.platform import AdPlatform, CallResult, CampaignState, Done, Unknown

__all__ = ["Running", "is_paused", "pause", "pause_all", "pause_each", "running"]

_ATTEMPTS = 3
_AT_ONCE = 8
_SHOWN_CHARACTERS = 300


class Running(NamedTuple):
    """Campaigns that are not known to be paused, entries without a name (as text), and paused campaigns.

    `repeated` are the names that occur more than once in the whole list.
    """

    states: tuple[CampaignState, ...]
    nameless: tuple[str, ...]
    paused: tuple[CampaignState, ...]
    repeated: frozenset[str] = frozenset()


def pause(platform: AdPlatform, campaign: str) -> CallResult:
    """Pause a campaign; retry with a new key while the outcome is unknown, because pausing twice is harmless."""
    outcome: CallResult = Unknown("not tried")
    for _ in range(_ATTEMPTS):
        key = f"pause/{campaign}/{uuid.uuid4().hex}"
        outcome = attempt(partial(platform.pause, campaign, key=key))
        if not isinstance(outcome, Unknown):
            break
    return outcome


def pause_all(platform: AdPlatform, known: Iterable[str] = ()) -> None:
    """Pause every campaign on the platform and those in `known`; raise if any may still be running.

    Several are paused at a time, so that a slow one does not delay the others. If the list cannot be read, the known
    ones are paused all the same.
    """
    names = dict.fromkeys(known)
    trouble: list[str] = []
    try:
        listed = running(platform)
        names |= dict.fromkeys(state.campaign for state in listed.states)
        trouble += listed.nameless
    except BaseException as error:  # pause the known ones first, then report any error
        if ends_the_program(error):
            raise
        trouble.append(f"the list of campaigns could not be read ({in_words(error)})")
    for campaign, outcome in pause_each(platform, tuple(names)).items():
        if not isinstance(outcome, Done):
            trouble.append(f"{campaign}: {outcome}")
    if trouble:
        raise GaelpError(f"not everything is paused ({'; '.join(trouble)}): pause it on the platform by hand, now")


def is_paused(state: CampaignState) -> bool:
    """Whether a campaign is known to be paused; any other status, or none, counts as running."""
    return getattr(state, "status", None) == "paused"


def running(platform: AdPlatform) -> Running:
    """List what may be spending: every campaign that is not known to be paused."""
    states: list[CampaignState] = []
    nameless: list[str] = []
    paused: list[CampaignState] = []
    names: Counter[str] = Counter()
    for state in platform.read_campaigns():
        name, paused_there = _name_and_pause(state)
        names.update([name])
        if paused_there:
            paused.append(state)
        elif name:
            states.append(state)
        else:
            nameless.append(f"the list has an entry without a campaign's name, {shown(state)}"[:_SHOWN_CHARACTERS])
    repeated = frozenset(name for name, count in names.items() if count > 1)
    return Running(tuple(states), tuple(nameless), tuple(paused), repeated)


def _name_and_pause(state: CampaignState) -> tuple[str, bool]:
    """The name of an entry, empty if it has none, and whether it is paused; an unreadable entry is not."""
    name = ""
    try:
        given = getattr(state, "campaign", None)
        name = given if isinstance(given, str) else ""
        return name, is_paused(state)
    except BaseException as error:
        if ends_the_program(error):
            raise
        return name, False


def pause_each(platform: AdPlatform, campaigns: tuple[str, ...]) -> dict[str, CallResult]:
    """Pause campaigns in parallel; return the outcome of each."""
    outcomes: dict[str, CallResult] = dict.fromkeys(campaigns, Unknown("the call did not return"))
    waiting: SimpleQueue[str] = SimpleQueue()
    for campaign in campaigns:
        waiting.put(campaign)

    def work() -> None:
        while True:
            try:
                campaign = waiting.get_nowait()
            except Empty:
                return
            outcomes[campaign] = pause(platform, campaign)

    helpers = _helpers(work, min(_AT_ONCE, len(campaigns)) - 1)
    work()
    for helper in helpers:
        helper.join()
    return outcomes


def _helpers(work: Callable[[], None], count: int) -> list[Thread]:
    """Start threads for the same work; they are daemons, so that a hanging call does not block the exit."""
    started: list[Thread] = []
    for number in range(count):
        helper = Thread(target=work, name=f"gaelp-pause-{number}", daemon=True)
        try:
            helper.start()
        except RuntimeError:  # a machine that cannot start threads still pauses, with fewer at a time
            break
        started.append(helper)
    return started
