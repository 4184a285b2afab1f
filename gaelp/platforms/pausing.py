"""Pausing, which always passes: no approval, no reservation, no ledger, no kill switch stands before it."""

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
    """The campaigns that are not known to be paused, and in words what cannot be paused for want of a name.

    Beside them those that are paused; `repeated` are the names that stand more than once in the whole list.
    """

    states: tuple[CampaignState, ...]
    nameless: tuple[str, ...]
    paused: tuple[CampaignState, ...]
    repeated: frozenset[str] = frozenset()


def pause(platform: AdPlatform, campaign: str) -> CallResult:
    """Pause one campaign; tried again with a new key while the outcome is unknown, for pausing twice does no harm."""
    outcome: CallResult = Unknown("not tried")
    for _ in range(_ATTEMPTS):
        key = f"pause/{campaign}/{uuid.uuid4().hex}"
        outcome = attempt(partial(platform.pause, campaign, key=key))
        if not isinstance(outcome, Unknown):
            break
    return outcome


def pause_all(platform: AdPlatform, known: Iterable[str] = ()) -> None:
    """Pause every campaign, those on the platform and those known here; raises if any may still be running.

    Several are paused at a time: a slow one keeps none of the others running. A list that cannot be read keeps none of
    the known ones from being paused.
    """
    names = dict.fromkeys(known)
    trouble: list[str] = []
    try:
        found = running(platform)
        names |= dict.fromkeys(state.campaign for state in found.states)
        trouble += found.nameless
    except BaseException as error:  # whatever it is, the known ones are paused first and then it is told
        if ends_the_program(error):
            raise
        trouble.append(f"the list of campaigns could not be read ({in_words(error)})")
    for campaign, outcome in pause_each(platform, tuple(names)).items():
        if not isinstance(outcome, Done):
            trouble.append(f"{campaign}: {outcome}")
    if trouble:
        raise GaelpError(f"not everything is paused ({'; '.join(trouble)}): pause it on the platform by hand, now")


def is_paused(state: CampaignState) -> bool:
    """Whether a campaign is known to stand still; any other word for its status, or none, says nothing of the kind."""
    return getattr(state, "status", None) == "paused"


def running(platform: AdPlatform) -> Running:
    """What may be spending: every campaign that is not known to be paused."""
    states: list[CampaignState] = []
    nameless: list[str] = []
    paused: list[CampaignState] = []
    names: Counter[str] = Counter()
    for state in platform.read_campaigns():
        name, stands_still = _seen(state)
        names.update([name])
        if stands_still:
            paused.append(state)
        elif name:
            states.append(state)
        else:
            nameless.append(f"the list holds what is no campaign with a name, {shown(state)}"[:_SHOWN_CHARACTERS])
    repeated = frozenset(name for name, count in names.items() if count > 1)
    return Running(tuple(states), tuple(nameless), tuple(paused), repeated)


def _seen(state: CampaignState) -> tuple[str, bool]:
    """The name of an entry, empty if it has none, and whether it is paused; an entry that cannot be asked is not."""
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
    """Pause these side by side; the answer is what became of each."""
    outcomes: dict[str, CallResult] = dict.fromkeys(campaigns, Unknown("the call did not come back"))
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
    """Threads that do the same work; the end of the process does not wait for a call that hangs in one."""
    started: list[Thread] = []
    for number in range(count):
        helper = Thread(target=work, name=f"gaelp-pause-{number}", daemon=True)
        try:
            helper.start()
        except RuntimeError:  # a machine out of threads pauses all the same, with fewer at a time
            break
        started.append(helper)
    return started
