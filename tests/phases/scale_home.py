"""A home with an agent whose pilot is on record, and a release of a few days that it can run in seconds."""

from datetime import timedelta

from gaelp.clock import ManualClock
from gaelp.config.write import write_models
from gaelp.gates import Evidence, judge
from gaelp.phases.agent_bundle import copy_bundle
from gaelp.phases.data_evidence import without_data_rules
from gaelp.phases.declaration import Assignment
from gaelp.phases.phase_result import PhaseResult, write_result
from gaelp.phases.pilot_declaration import PILOT
from gaelp.phases.pilot_result import LoopCounts, PilotResult
from gaelp.phases.run_folder import RunFolder
from gaelp.phases.scale_declaration import SCALE
from gaelp.phases.scale_planning import RELEASE_PLAN_FILE, read_pilot
from gaelp.phases.scale_preview import ground_of
from gaelp.pilot.pilot_metrics import PilotMetrics
from gaelp.types import Phase, RunId

SMALL = (
    "scale.days=6",
    "scale.step_days=2",
    "scale.full_days=2",
    "scale.settle_days=1",
    "scale.mature_days=1",
    "scale.decide_hours=12",
    "scale.transfer.products=2",
    "scale.transfer.campaigns=8",
)


def piloted(settings, previous, history_home, pilot_home):
    """The record of a pilot that went well, without the hours of running it."""
    given = pilot_home.assignment(settings, previous, history_home)
    planned = pilot_home.store_plan(given)
    model = copy_bundle(settings, previous, given.folder.path / "agent")
    verdict = _passing(without_data_rules(PILOT.load_gate(settings.gate)), previous, history_home.NOW)
    named = {"run_id": previous.run_id, "agent": previous.agent, "learned": previous.learned, "verdict": verdict}
    named |= {"model_hash": previous.model_hash, "model": model.relative_to(given.folder.path).as_posix()}
    result = PilotResult(
        **named,
        world="sandbox",
        plan=planned.plan,
        mandate="",
        expected=planned.expected,
        skewed_features=(),
        ended="finished",
        counts=LoopCounts(decided=24, missed=0),
        metrics=_metrics(planned.plan, history_home.NOW),
        seconds=1.0,
    )
    write_models({given.folder.details: result})
    found = PhaseResult(phase=Phase.PILOT, attempt=given.folder.attempt, seconds=1.0, judged_on="a pilot", **named)
    write_result(settings.home, found)
    return found


def assignment(settings, previous, history_home, *, data_rules=False, on_report=lambda report: None):
    gate = SCALE.load_gate(settings.gate)
    return Assignment(
        settings=settings,
        folder=RunFolder(settings.home, RunId(previous.run_id)).phase(Phase.SCALE),
        gate=gate if data_rules else without_data_rules(gate),
        previous=previous,
        clock=ManualClock(history_home.NOW),
        on_report=on_report,
    )


def store_plan(given, pilot_home):
    """Store the plan as if people had accepted one that shows little: a whole release takes minutes."""
    settings, pilot = given.settings, given.previous
    first_day = read_pilot(settings, pilot).plan.settled_day + timedelta(days=1)
    ground = ground_of(settings, pilot_home.read_known(given), pilot, given.gate, first_day=first_day)
    write_models({given.folder.path / RELEASE_PLAN_FILE: ground.plan})


def _metrics(plan, now):
    spend = 20_000_000 * len(plan.campaigns) * plan.days
    return PilotMetrics(
        label="attributed",
        value_from="sales feed",
        as_of=now,
        campaigns=len(plan.campaigns),
        roi=0.5,
        roi_lower_95=0.3,
        roi_upper_95=0.7,
        platform_roi=0.5,
        spend_micros=spend,
        value_micros=spend * 3 // 2,
        pending_micros=0.0,
        pending_lower_95_micros=0.0,
        pending_upper_95_micros=0.0,
        spans=(),
        positive_roi_streak=3,
        wished_micros=float(spend),
        budget_efficiency=1.0,
        safety_violations=0,
    )


def _passing(gate, previous, now):
    metrics = {}
    for rule in gate.criteria:
        good = 0.0 if rule.bound in ("at_most", "below") else max(rule.threshold, 0.0)
        metrics |= {rule.metric: good, rule.figure: good, rule.sample_metric: 10_000.0}
    evidence = Evidence(
        run_id=previous.run_id,
        agent=previous.agent,
        learned=previous.learned,
        config_hash="c",
        measured_at=now,
        metrics=metrics,
    )
    return judge(gate, evidence, now)
