"""Stop a pilot: every campaign paused on the platform and read back, tried again until it is or time is up."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gaelp.checks.raised import in_words
from gaelp.platforms.pausing import pause_each, running
from gaelp.platforms.platform import AdPlatform

__all__ = ["PilotPause", "pause_campaigns"]

_PATIENCE_SECONDS = 50.0
_BETWEEN_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class PilotPause:
    """Which campaigns were read back as paused, and which may still run."""

    paused: tuple[str, ...]
    may_run: tuple[str, ...]
    detail: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether every campaign is paused."""
        return not self.may_run


def pause_campaigns(
    platform: AdPlatform,
    campaigns: Iterable[str],
    *,
    patience_seconds: float = _PATIENCE_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> PilotPause:
    """Pause these campaigns; one that does not exist counts as paused. Pauses are never refused by the guard."""
    wanted, deadline = tuple(campaigns), time.monotonic() + patience_seconds
    left, detail = wanted, ""
    while True:
        pause_each(platform, left)
        try:
            listed = running(platform)
            may_run = {state.campaign for state in listed.states}
            left, detail = tuple(name for name in wanted if name in may_run), "; ".join(listed.nameless)
        except Exception as problem:  # noqa: BLE001 - it is tried again, and reported if time is up
            detail = f"the campaigns could not be read back ({in_words(problem)})"
        else:
            if not left:
                return PilotPause(wanted, (), detail)
        if time.monotonic() >= deadline:
            return PilotPause(tuple(name for name in wanted if name not in left), left, detail)
        sleep(_BETWEEN_SECONDS)
