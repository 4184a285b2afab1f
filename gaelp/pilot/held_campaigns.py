"""Let a held campaign run again because a person says so: in the audit log first, then in the pilot's record."""

from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from gaelp.approvals import AuditLog, approvals_place, open_database
from gaelp.config.settings import Settings
from gaelp.database import has_store
from gaelp.errors import BadInput, Refused
from gaelp.pilot.book_schema import STORE
from gaelp.pilot.decision_book import DecisionBook, book_place, pilots_of

__all__ = ["RELEASED", "Release", "release_campaign"]

RELEASED = "pilot-campaign-released"  # in the audit log


@dataclass(frozen=True, slots=True)
class Release:
    """Who lets which campaign run again, and why; without a pilot, the one in which it is held."""

    campaign: str
    by: str
    reason: str
    pilot: str | None = None


def release_campaign(settings: Settings, asked: Release, at: datetime) -> str:
    """Release the campaign and return the pilot; BadInput for an unknown name, Refused for one that is not held."""
    if not asked.reason.strip():
        raise BadInput(f"{asked.campaign} is to be released without a reason: say why it may run again (--reason)")
    pilot, why_held = _find(settings, asked)
    row = {"campaign": asked.campaign, "pilot": pilot, "by": asked.by, "reason": asked.reason, "held": why_held}
    AuditLog(open_database(approvals_place(settings))).append(RELEASED, row, at)
    with closing(DecisionBook(book_place(settings), pilot)) as book:
        book.release(asked.campaign, asked.by, asked.reason, at)
    return pilot


def _find(settings: Settings, asked: Release) -> tuple[str, str]:
    """The pilot that holds the campaign, and why it does."""
    place = book_place(settings)
    pilots = pilots_of(place) if has_store(place, STORE) else {}
    if asked.pilot is not None:
        if asked.pilot not in pilots:
            raise BadInput(f"saw pilot {asked.pilot!r}; there are {', '.join(pilots) or 'none yet'}")
        pilots = {asked.pilot: pilots[asked.pilot]}
    held: dict[str, dict[str, str]] = {}
    for pilot in pilots:
        with closing(DecisionBook(place, pilot)) as book:
            held[pilot] = {} if book.stop_event is not None else book.held()
    holding = [pilot for pilot, campaigns in held.items() if asked.campaign in campaigns]
    if len(holding) == 1:
        return holding[0], held[holding[0]][asked.campaign]
    if holding:
        raise BadInput(f"{asked.campaign} is held in {len(holding)} pilots: name one with --run ({', '.join(holding)})")
    waiting = ", ".join(sorted(name for campaigns in held.values() for name in campaigns)) or "none"
    if any(asked.campaign in campaigns for campaigns in pilots.values()):
        raise Refused(f"{asked.campaign} is not held in a pilot that still runs: held are {waiting}")
    raise BadInput(f"no pilot has a campaign {asked.campaign!r}: held are {waiting}")
