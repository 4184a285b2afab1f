"""A home with an agent that was judged on a small history, and a pilot of one day that it can run in seconds."""

from gaelp.clock import ManualClock
from gaelp.config.write import write_models
from gaelp.phases.agent_bundle import load_bundle
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.declaration import Assignment
from gaelp.phases.pilot_declaration import PILOT
from gaelp.phases.pilot_planning import make_plan, read_account
from gaelp.phases.pilot_preview import account_and_day
from gaelp.phases.planned_pilot import play_plan
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase, RunId

SMALL = (
    "pilot.campaigns=3",
    "pilot.days=1",
    "pilot.settle_days=3",
    "pilot.shadow_days=1",
    "pilot.loss_cap_micros=75000000",  # all of it: a day of three campaigns may bring no sale
)


def assignment(settings, previous, history_home, *, data_rules=False, on_report=lambda report: None):
    gate = PILOT.load_gate(settings.gate)
    return Assignment(
        settings=settings,
        folder=RunFolder(settings.home, RunId(previous.run_id)).phase(Phase.PILOT),
        gate=gate if data_rules else without_data_rules(gate),
        previous=previous,
        clock=ManualClock(history_home.NOW),
        on_report=on_report,
    )


def read_known(given):
    agent = load_bundle(given.previous.model_file(given.settings.home).parent, given.settings)
    return read_account(given.settings, agent, given.clock, given.on_report)


def store_plan(given):
    """Store the plan as if people had accepted one that shows little: a whole pilot takes minutes."""
    settings, previous = given.settings, given.previous
    known = read_known(given)
    account, first_day = account_and_day(settings, previous.run_id, given.clock)
    plan = make_plan(
        settings, known, account, name=previous.run_id, model_hash=previous.model_hash, first_day=first_day
    )
    planned = play_plan(settings, known, plan, given.gate, given.on_report)
    write_models({given.folder.path / "plan.json": planned})
    return planned
