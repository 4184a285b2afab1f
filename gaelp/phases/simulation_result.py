"""Every figure of phase 1, and the part of it that is passed on."""

from collections.abc import Mapping
from typing import Self

from gaelp.config.base import Frozen
from gaelp.config.settings import EvaluationSettings
from gaelp.gates import Verdict
from gaelp.market.baselines.compare import Comparison
from gaelp.market.baselines.comparison_text import (
    COMPARISON_COLUMNS,
    MONEY_COLUMNS,
    comparison_meaning,
    comparison_rows,
    comparison_title,
    money_rows,
)
from gaelp.phases.episode_window import episode_window
from gaelp.phases.market_limits import market_limits
from gaelp.phases.phase_result import PhaseResult, ResultTable
from gaelp.phases.run_folder import PhaseFolder
from gaelp.types import Phase

__all__ = ["SimulationResult", "as_phase_result"]

_SHOWN = ("reward", "headroom_share", "lead_over_constant", "lead_over_best_rule", "success_rate", "ruined_share")


class SimulationResult(Frozen):
    """What phase 1 measured, stored in simulation.json."""

    run_id: str
    agent: str
    learned: bool  # False: no checkpoint did better than the rule it started from, so the rule is the agent
    stopped: str
    stop_detail: str
    rounds: int
    training_seconds: float  # with validation, summed over all processes of the run
    checkpoint: str | None
    model_hash: str  # SHA-256 of what the agent has learned, or of the tuned rules where a rule is the agent
    config_hash: str
    evaluation: EvaluationSettings
    metrics: dict[str, float]
    shifted_metrics: dict[str, float]  # on a market with other parameters than the one trained on
    comparison: Comparison
    verdict: Verdict  # of the first gate, before any person decides

    def judged_again(self, verdict: Verdict) -> Self:
        """The same result with a verdict on more evidence."""
        return self.model_copy(update={"verdict": verdict, "metrics": verdict.evidence.metrics})


def as_phase_result(result: SimulationResult, folder: PhaseFolder) -> PhaseResult:
    """Return the result of phase 1 in the common form."""
    checkpoint = folder.checkpoints / result.checkpoint if result.checkpoint else None
    return PhaseResult(
        phase=Phase.SIMULATION,
        run_id=result.run_id,
        attempt=folder.attempt,
        agent=result.agent,
        learned=result.learned,
        model_hash=result.model_hash,
        model=(checkpoint or folder.rules).relative_to(folder.path).as_posix(),
        verdict=result.verdict,
        seconds=result.training_seconds,
        judged_on=episode_window(folder, result.evaluation.seed),
        text=_meaning(result),
        tables=(_comparison(result.comparison), _intervals(result), _money(result.comparison)),
    )


def _comparison(comparison: Comparison) -> ResultTable:
    return ResultTable(
        columns=COMPARISON_COLUMNS,
        rows=comparison_rows(comparison),
        above=comparison_title(comparison),
        below=comparison_meaning(comparison) + "\n",
    )


def _money(comparison: Comparison) -> ResultTable:
    return ResultTable(columns=MONEY_COLUMNS, rows=money_rows(comparison), above="Money, mean of a campaign")


def _intervals(result: SimulationResult) -> ResultTable:
    both = (result.metrics, result.shifted_metrics)
    rows = tuple((name, *(_interval(figures, name) for figures in both)) for name in _SHOWN)
    return ResultTable(columns=(result.agent, "this market", "shifted market"), rows=rows)


def _interval(figures: Mapping[str, float], name: str) -> str:
    return f"{figures[name]:.3f} ({figures[f'{name}_lower_95']:.3f} .. {figures[f'{name}_upper_95']:.3f})"


def _meaning(result: SimulationResult) -> str:
    limits = market_limits(result.verdict.gate, result.comparison)
    return "\n".join([*limits, f"Run {result.run_id}: {_what_was_learned(result)}"])


def _what_was_learned(result: SimulationResult) -> str:
    if result.learned:
        return f"checkpoint {result.checkpoint} did best on the validation episodes."
    return "nothing was learned that does better than the rule on the validation episodes, so the rule is the agent."
