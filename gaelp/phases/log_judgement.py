"""What logged decisions say of an agent at gate 2: its lifts, whom it harms, and the metrics of the rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gaelp.history.log_checks import LogCheck
from gaelp.history.logged_campaigns import LoggedDecisions
from gaelp.history.logged_lift import GroupLift, LiftOptions, LoggedPolicy, PolicyLift, group_lifts, policy_lift
from gaelp.history.posterior_report import PosteriorGroup
from gaelp.history.sealed_window import alpha_of_look

__all__ = [
    "AGENT",
    "ALPHA",
    "CHAMPION",
    "HARM_SHARE",
    "NOTHING_KNOWN",
    "JudgedLog",
    "harmed_groups",
    "interval_metrics",
    "judge_on_log",
    "look_options",
]

ALPHA = 0.05  # of all looks at a sealed window together
AGENT, CHAMPION = "agent", "champion"  # the policies that rules of the gate are about
HARM_SHARE = 0.1  # a campaign or segment that certainly loses more value per dollar than this counts as harmed
NOTHING_KNOWN = (0.0, -1.0, 100.0)  # a lift that the log cannot tell: anything is possible


@dataclass(frozen=True, slots=True)
class JudgedLog:
    """What a window says of the agent; without propensities there is only the check."""

    check: LogCheck
    lift: PolicyLift | None = None
    incumbent_lift: PolicyLift | None = None  # over the champion, where there is one
    rivals: tuple[PolicyLift, ...] = ()
    groups: tuple[GroupLift, ...] = ()

    @property
    def metrics(self) -> dict[str, float]:
        """The figures of gate 2 about the agent; without propensities there are none."""
        if self.lift is None:
            return {}
        conclusive = not self.check.problems and self.lift.judged.lift is not None
        sample = self.lift.judged.diagnostics.effective_decisions if conclusive else 0.0
        return {
            "effective_sample": sample,
            **interval_metrics("lift_over_logging", _ends(self.lift, conclusive=conclusive)),
            **interval_metrics("lift_over_incumbent", _ends(self.incumbent_lift or self.lift, conclusive=conclusive)),
            "harmed_groups": harmed_groups(self.groups),
        }


def look_options(replicates: int) -> LiftOptions:
    """How a look at a sealed window is judged: each at a third of alpha."""
    return LiftOptions(confidence=1 - alpha_of_look(ALPHA), replicates=replicates)


def judge_on_log(
    logged: LoggedDecisions,
    check: LogCheck,
    policies: Mapping[str, LoggedPolicy],
    rng: np.random.Generator,
    options: LiftOptions,
) -> JudgedLog:
    """Lifts of all policies over the logging policy, and of the agent over the champion if there is one."""
    lifts = {name: policy_lift(logged, policy, rng, options) for name, policy in policies.items()}
    agent, champion = policies[AGENT], policies.get(CHAMPION)
    return JudgedLog(
        check,
        lift=lifts[AGENT],
        incumbent_lift=None if champion is None else policy_lift(logged, agent, rng, options, champion),
        rivals=tuple(lift for name, lift in lifts.items() if name != AGENT),
        groups=group_lifts(logged, agent, confidence=options.confidence),
    )


def harmed_groups(groups: Sequence[GroupLift | PosteriorGroup]) -> float:
    """How many campaigns and segments certainly lose more than the share that counts as harm."""
    return float(sum(group.upper < -HARM_SHARE for group in groups))


def interval_metrics(name: str, ends: tuple[float, float, float]) -> dict[str, float]:
    """A metric with its bounds: value, lower, upper."""
    value, lower, upper = ends
    return {name: value, f"{name}_lower_95": lower, f"{name}_upper_95": min(upper, NOTHING_KNOWN[2])}


def _ends(lift: PolicyLift, *, conclusive: bool) -> tuple[float, float, float]:
    report = lift.judged
    if conclusive and report.lift is not None and report.lift_lower is not None and report.lift_upper is not None:
        return report.lift, report.lift_lower, report.lift_upper
    return NOTHING_KNOWN
