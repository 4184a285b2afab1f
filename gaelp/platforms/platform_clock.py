"""A clock that follows an ad platform's own time, which is simulated in a sandbox."""

from datetime import UTC, datetime

from gaelp.checks.raised import ends_the_program, in_words
from gaelp.clock import Clock
from gaelp.errors import GaelpError
from gaelp.platforms.platform import AdPlatform

__all__ = ["PlatformClock", "ledger_clock"]


class PlatformClock:
    """Asks the platform each time; GaelpError if it does not know, so that nothing is dated by guess."""

    def __init__(self, platform: AdPlatform) -> None:
        self._platform = platform

    def now(self) -> datetime:
        """The platform's present instant, in UTC."""
        try:
            at = self._platform.now()
        except BaseException as error:  # as text: the exception may contain a secret
            if ends_the_program(error):
                raise
            raise GaelpError(
                f"the time of {self._platform.name} is unknown ({in_words(error)}), so no day can be charged: start the"
                " sandbox again, or check platform.name"
            ) from None
        if at.utcoffset() is None:
            raise GaelpError(
                f"the time of {self._platform.name} is {at.isoformat()}, without a zone: fix the connector"
            )
        return at.astimezone(UTC)


def ledger_clock(platform: AdPlatform, wall_clock: Clock) -> Clock:
    """The clock of days, leases and evidence: simulated time in a sandbox, wall time where real money can move."""
    return PlatformClock(platform) if platform.world == "sandbox" else wall_clock
