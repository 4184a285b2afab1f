"""The plan of a pilot before anything is started, stored or signed."""

from contextlib import closing
from datetime import date

from gaelp.budget.ledger import AdAccount, known_account
from gaelp.clock import Clock, account_day
from gaelp.config.settings import Settings
from gaelp.gates import Gate
from gaelp.guard_bootstrap import open_platform_books
from gaelp.phases.agent_bundle import load_bundle
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.pilot_planning import first_pilot_day, make_plan, read_account
from gaelp.phases.planned_pilot import PlannedPilot, play_plan
from gaelp.phases.stage_report import OnReport
from gaelp.pilot.local_account import synthesized
from gaelp.sandbox.history_specs import history_end, history_specs

__all__ = ["account_and_day", "preview_plan"]


def preview_plan(
    settings: Settings, proven: PhaseResult, gate: Gate, clock: Clock, on_report: OnReport
) -> PlannedPilot:
    """What phase 3 would plan for the agent of a run now."""
    agent = load_bundle(proven.model_file(settings.home).parent, settings)
    known = read_account(settings, agent, clock, on_report)
    account, first_day = account_and_day(settings, proven.run_id, clock)
    plan = make_plan(
        settings,
        known,
        account,
        name=proven.run_id,
        model_hash=proven.model_hash,
        first_day=first_day,
    )
    return play_plan(settings, known, plan, gate, on_report)


def account_and_day(settings: Settings, run_id: str, clock: Clock) -> tuple[AdAccount, date]:
    """The account, and the first day on which a pilot could spend there."""
    account, today = _account(settings, run_id, clock)
    return account, first_pilot_day(today, settings.pilot)


def _account(settings: Settings, run_id: str, clock: Clock) -> tuple[AdAccount, date]:
    if settings.pilot.local:
        spec, world = history_specs(synthesized(settings), settings.run.seed)
        account = AdAccount(f"local-{run_id}", world.currency, world.time_zone)
        return account, account_day(history_end(spec, world), account.time_zone)
    with closing(open_platform_books(settings)) as ledger:
        account = known_account(ledger, str(settings.platform.account))
    return account, account_day(clock.now(), account.time_zone)
