import re
from pathlib import Path

import pytest

from gaelp.checks import Goal
from gaelp.config.places import repository_root
from gaelp.training.monitor import MonitorSpec, PerformanceMonitor
from gaelp.training.report_text import as_text, round_text
from gaelp.training.reports import Intervened, Resumed, RoundDone, Saved, TrainingStopped, Validated
from gaelp.training.scores import Score

REWARD = Goal(metric="reward", at_least=0.7, compare="value")
LEAD = Goal(metric="lead", at_least=0.05, compare="lower_95")


def score_of(mean, *, compared=True):
    return Score(
        mean=mean, lower_95=0.7, upper_95=0.8, lead=0.01, lead_lower_95=0.0, lead_upper_95=0.02, episodes=9,
        compared=compared,
    )  # fmt: skip


def validated(values=(0.72,), *, goals=(), compared=True, best=False):
    monitor = PerformanceMonitor(MonitorSpec(), goals)
    for value in values:
        monitor.record({"reward": value, "lead_lower_95": 0.02})
    score = score_of(values[-1], compared=compared)
    return as_text(Validated(round=3, score=score, best=best, monitor=monitor.report()))


def stopped(best, score, detail="10 rounds are done"):
    return as_text(TrainingStopped("finished", detail, 10, best, score, 1.0))


def test_a_validation_says_what_is_met_and_how_far_the_rest_is():
    unknown = Goal(metric="steadiness", at_most=3, compare="value")
    assert validated(goals=(REWARD, LEAD, unknown), best=True) == (
        "Round 3: validation reward 0.7200, +0.0100 ±0.0100 against the rule. 1 of 3 goals are met;"
        " missing: lead_lower_95 -0.030, steadiness not measured. This is the best so far."
    )
    assert validated(goals=(REWARD,)).endswith("against the rule. 1 of 1 goals are met.")


def test_a_lead_that_may_be_luck_is_called_so():
    score = score_of(0.72).model_copy(update={"lead_lower_all_looks": -0.004})
    report = Validated(round=3, score=score, best=False, monitor=PerformanceMonitor(MonitorSpec(), ()).report())
    assert as_text(report).endswith("The lead may be luck: over all looks of the run its lower bound is -0.0040.")


def test_the_documentation_shows_the_lines_that_training_prints():
    printed = {
        validated(goals=(REWARD,), best=True),
        validated(goals=(REWARD,)),
        stopped(Path("run/000004-step-96.safetensors"), score_of(0.7)),
    }
    text = (repository_root() / "docs/agents.md").read_text(encoding="utf-8")
    shown = re.findall(r"^(?:Round|Finished|Stopped) .*", text, re.MULTILINE | re.IGNORECASE)
    assert {without_numbers(line) for line in shown} == {without_numbers(line) for line in printed}


def without_numbers(line):
    return re.sub(r"[+-]?\d+(\.\d+)?", "#", line)


def test_without_goals_or_a_rule_the_line_is_short():
    assert validated(compared=False) == "Round 3: validation reward 0.7200."


def test_a_trend_that_is_more_than_noise_is_reported_and_so_is_an_outlier():
    assert validated([0.1 * point for point in range(12)]).endswith("The reward is rising over 10 validations.")
    assert validated([1 - 0.05 * point + 0.01 * (point % 3) for point in range(12)]).endswith(
        "The reward is falling over 10 validations."
    )
    assert validated([0.5, 0.51] * 8 + [0.1]).endswith("This reward is unusually low.")


def test_a_run_that_learned_nothing_better_says_that_its_rule_is_handed_on():
    assert stopped(None, score_of(0.7)) == (
        "Finished after round 10: 10 rounds are done. No better than the rule it started from, beyond luck: the rule is"
        " handed on."
    )


@pytest.mark.parametrize(("compared", "lead"), [(True, ", +0.0100 against the rule"), (False, "")])
def test_a_run_that_learned_something_names_its_best_checkpoint(compared, lead):
    text = stopped(Path("run/000004-step-96.safetensors"), score_of(0.7, compared=compared), "it fell. Look at it.")
    assert text == (
        "Finished after round 10: it fell. Look at it. The best checkpoint is 000004-step-96.safetensors:"
        f" validation reward 0.7000{lead}."
    )


def test_a_run_that_was_never_validated_claims_nothing():
    assert stopped(None, None).endswith("10 rounds are done. No checkpoint was validated.")


def test_a_resumed_run_names_the_checkpoint_and_those_that_could_not_be_used():
    text = as_text(Resumed(Path("run/000004-step-96.safetensors"), 4, ("000005-step-120.safetensors is damaged.",)))
    assert text.splitlines() == [
        "Resumed after round 4 from 000004-step-96.safetensors.",
        "  Not used: 000005-step-120.safetensors is damaged.",
    ]


def test_a_guardrail_says_what_was_wrong_and_what_was_done():
    assert as_text(Intervened(3, "KL blow-up", "rolled back to round 2, learning rate halved", "approx_kl is 2")) == (
        "Round 3, guardrail 'KL blow-up': approx_kl is 2. Action: rolled back to round 2, learning rate halved."
    )


def test_rounds_and_checkpoints_have_no_line_but_a_round_has_figures_for_a_progress_bar():
    metrics = {"loss": 0.1234, "unknown": 1.0}
    done = RoundDone(1, 10, "calm", 96, 12_345.0, 0.5, metrics, {}, 0)
    assert (as_text(done), as_text(Saved(1, Path("x")))) == ("", "")
    assert round_text(done) == "reward 0.500, loss 0.123, 12k steps/s"
