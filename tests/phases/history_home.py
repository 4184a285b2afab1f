"""A home with a rule as the agent of phase 1 and four weeks of a small history: what phase 2 begins with."""

from datetime import UTC, datetime

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.config.fingerprint import fingerprint
from gaelp.config.write import write_models
from gaelp.gates import Evidence, judge, load_gate
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.declaration import Assignment, carry_out
from gaelp.phases.history_declaration import HISTORY
from gaelp.phases.history_source import provide_history
from gaelp.phases.phase_result import PhaseResult, read_result, write_result
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.simulation import plan_simulation
from gaelp.types import Phase, RunId

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
SMALL = (
    "market.name=shop",
    "history.synthesize.world=default",  # few searches: an hour of it takes the least time
    "history.synthesize.weeks=4",
    "history.synthesize.campaigns=6",
    "history.splits.calibration_share=0.45",
    "history.splits.validation_share=0.29",
    "history.copies=4",
    "history.replicates=100",
    "training.tracking=false",
)


def settings_of(home, *overrides):
    return load_settings("quick-test", overrides=[f"home={home}", *SMALL, *overrides], environ={}).settings


def trained(settings, run_id):
    """The result of phase 1 for a run whose agent is the tuned rule inside its recipe."""
    folder = RunFolder(settings.home, RunId(run_id)).phase(Phase.SIMULATION)
    plan = plan_simulation(settings)
    write_models({folder.rules: plan.tuned})
    gate = without_data_rules(load_gate("simulation"))
    metrics = {}
    for rule in gate.criteria:
        good = 0.0 if rule.bound in ("at_most", "below") else max(rule.threshold, 0.0)
        metrics |= {rule.metric: good, rule.figure: good, rule.sample_metric: 10_000.0}
    evidence = Evidence(
        run_id=run_id, agent="agent (mpc unchanged)", learned=False, config_hash="c", measured_at=NOW, metrics=metrics
    )
    result = PhaseResult(
        phase=Phase.SIMULATION,
        run_id=run_id,
        attempt=1,
        agent=evidence.agent,
        learned=False,
        model_hash=fingerprint(plan.tuned),
        model=folder.rules.name,
        verdict=judge(gate, evidence, NOW),
        seconds=1.0,
        judged_on="episodes",
    )
    write_result(settings.home, result)
    return result


def assignment(settings, previous, *, data_rules=False, on_report=lambda report: None):
    gate = HISTORY.load_gate(settings.gate)
    return Assignment(
        settings=settings,
        folder=RunFolder(settings.home, RunId(previous.run_id)).phase(Phase.HISTORY),
        gate=gate if data_rules else without_data_rules(gate),
        previous=previous,
        clock=ManualClock(NOW),
        on_report=on_report,
    )


def validated(settings, previous, **options):
    return read_result(carry_out(HISTORY, assignment(settings, previous, **options)))


def provide(settings):
    """Make the history."""
    return provide_history(settings, lambda report: None)
