"""What a platform has must be what it was told: a budget that differs is a violation, and its campaign is paused."""

from datetime import date

from gaelp.errors import Refused
from gaelp.money import Micros
from gaelp.platforms.guard import Guard, tell, tell_violation
from gaelp.platforms.pausing import pause
from gaelp.platforms.platform import CampaignState, Done

__all__ = ["check_written", "difference", "pause_and_tell"]


def check_written(guard: Guard, campaign: str, daily_micros: Micros, through: date) -> None:
    """Read a campaign back after a write; Refused if it is not as it was written, or cannot be read."""
    try:
        states = {state.campaign: state for state in guard.platform.read_campaigns()}
    except Exception as error:
        what = f"{campaign} was changed and cannot be read back ({type(error).__name__}: {error}), so it was paused"
        pause_and_tell(guard, campaign, rule="not-read-back", what=what, is_violation=False)
        raise Refused(f"{what}: look at it on the platform, then enable it with a new order") from error
    if wrong := difference(states.get(campaign), (daily_micros,), through):
        what = f"{campaign}: {wrong}, so it was paused"
        pause_and_tell(guard, campaign, rule="read-back-differs", what=what)
        raise Refused(f"{what}: look at it on the platform, then set its budget with a new order")


def difference(state: CampaignState | None, allowed: tuple[Micros, ...], through: date) -> str | None:
    """What is wrong with a campaign's budget, in words; `allowed` are the daily budgets it may have."""
    wanted = " or ".join(str(micros) for micros in sorted(set(allowed))) or "none"
    if state is None:
        return f"the platform has no such campaign, wanted was a daily budget of {wanted} micros"
    if state.daily_micros not in allowed:
        return f"the platform has a daily budget of {state.daily_micros} micros, wanted was {wanted}"
    if state.through > through:
        return f"the platform lets it run through {state.through}, wanted was {through} at the latest"
    return None


def pause_and_tell(guard: Guard, campaign: str, *, rule: str, what: str, is_violation: bool = True) -> None:
    """Stop a campaign first, then put on record why; a pause that does not succeed is told as well."""
    outcome = pause(guard.platform, campaign)
    if not isinstance(outcome, Done):
        what = f"{what}; THE PAUSE DID NOT SUCCEED ({outcome}): pause it on the platform by hand, now"
    if is_violation:
        tell_violation(guard, "critical", scope=campaign, rule=rule, what=what, once=True)
    else:
        tell(guard, "critical", scope=campaign, rule=rule, what=what)
