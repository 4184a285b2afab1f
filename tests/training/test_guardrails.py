"""Every update keeps its limits, or the first one broken is named with the figure, the limit and the reason."""

import math

import pytest
from pydantic import ValidationError

from gaelp.agents.learner import Update
from gaelp.errors import ActionError, BadInput, NotFinite, PoisonedExperience, Refused, WaitingForPerson
from gaelp.training.guardrails import (
    DEFAULT_GUARDRAILS,
    Guardrail,
    GuardrailSpec,
    breach_of_error,
    first_breach,
    health_figures,
    unreported,
)


def updated(*, steps=4, skipped=None, **metrics):
    return Update(metrics, gradient_steps=steps, skipped=skipped or {})


def breach_of(update):
    return first_breach(DEFAULT_GUARDRAILS, update)


@pytest.mark.parametrize(
    ("metrics", "guardrail"),
    [
        ({"gradient_norm_max": 10001.0}, "exploding gradient"),
        ({"approx_kl_max": 1.1}, "KL blow-up"),
        ({"action_std": 0.0009}, "exploration collapse"),
        ({"entropy": 0.00009}, "entropy collapse"),
        ({"value_abs_mean": 100001.0}, "value divergence"),
        ({"q_abs_max": 100001.0}, "value divergence"),
    ],
)
def test_a_figure_beyond_its_limit_is_a_breach_that_says_why(metrics, guardrail):
    [value] = metrics.values()
    breach = breach_of(updated(**metrics))
    assert (breach.guardrail, breach.response) == (guardrail, "roll back")
    assert DEFAULT_GUARDRAILS[guardrail].why in breach.detail
    assert f"{value:.6g}" in breach.detail
    assert f"{DEFAULT_GUARDRAILS[guardrail].threshold:g}" in breach.detail


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"loss": -1e9},
        {"gradient_norm_max": 1e4},
        {"approx_kl_max": 1.0},
        {"action_std": 1e-3},
        {"entropy": 1e-4},
        {"value_abs_mean": 1e5},
    ],
)
def test_a_figure_on_its_limit_or_without_one_is_healthy(metrics):
    assert breach_of(updated(**metrics)) is None


def test_the_entropy_of_numbers_may_be_negative_because_their_spread_is_looked_at():
    assert breach_of(updated(entropy=-3.0, action_std=0.1)) is None
    assert breach_of(updated(entropy=-3.0, temperature=0.02)) is None
    assert breach_of(updated(entropy=-3.0)).guardrail == "entropy collapse"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_not_finite_breaks_a_limit_whether_or_not_it_has_one(value):
    breach = breach_of(updated(loss=value))
    assert (breach.guardrail, breach.response) == ("not finite", "roll back")
    assert "loss" in breach.detail
    assert not DEFAULT_GUARDRAILS["KL blow-up"].limit.holds(math.nan)
    assert not DEFAULT_GUARDRAILS["exploration collapse"].limit.holds(math.nan)


@pytest.mark.parametrize(
    ("problem", "guardrail", "response"),
    [
        (NotFinite("cause"), "not finite", "stop"),
        (PoisonedExperience("cause"), "poisoned experience", "stop"),
        (ActionError("cause"), "bad input", "stop"),
        (BadInput("cause"), "bad input", "stop"),
        (Refused("cause"), "refused", "stop"),
        (MemoryError("cause"), "out of memory", "roll back"),
        (RuntimeError("CUDA out of memory. cause"), "out of memory", "roll back"),
        (RuntimeError("DefaultCPUAllocator: not enough memory: cause"), "out of memory", "roll back"),
    ],
)
def test_an_error_in_a_round_is_called_what_it_is(problem, guardrail, response):
    breach = breach_of_error(problem)
    assert (breach.guardrail, breach.response) == (guardrail, response)
    assert "cause" in breach.detail


@pytest.mark.parametrize(
    "problem", [RuntimeError("cause"), ValueError("out of memory"), WaitingForPerson("cause"), OSError("cause")]
)
def test_an_error_that_is_none_of_training_stays_one(problem):
    assert breach_of_error(problem) is None


def test_up_to_half_of_the_minibatches_may_be_skipped():
    assert health_figures(updated(steps=2, skipped={"loss": 1, "gradient": 1}))["skipped_share"] == 0.5
    assert breach_of(updated(steps=2, skipped={"loss": 1, "gradient": 1})) is None
    assert breach_of(updated(steps=2, skipped={"loss": 1, "gradient": 2})).guardrail == "skipped minibatches"
    assert "skipped_share" not in health_figures(updated(steps=0))


def test_given_rules_are_laid_over_the_built_in_ones_and_say_what_is_done():
    rule = Guardrail(metric="loss", at_most=1, response="stop", why="tried out")
    spec = GuardrailSpec(rules={"loss": rule})
    assert spec.rules == DEFAULT_GUARDRAILS | {"loss": rule}
    assert first_breach(spec.rules, updated(loss=2.0)).response == "stop"
    assert first_breach(spec.rules, updated(loss=0.5, approx_kl_max=9.0)).guardrail == "KL blow-up"
    stricter = GuardrailSpec(rules={"KL blow-up": rule.model_copy(update={"metric": "approx_kl_max", "at_most": 0.1})})
    assert first_breach(stricter.rules, updated(approx_kl_max=0.5)).response == "stop"
    assert len(stricter.rules) == len(DEFAULT_GUARDRAILS)


def test_a_built_in_rule_is_switched_off_by_its_name_alone():
    spec = GuardrailSpec.model_validate({"rules": {"KL blow-up": None}})
    assert spec.rules.keys() == DEFAULT_GUARDRAILS.keys() - {"KL blow-up"}
    assert first_breach(spec.rules, updated(approx_kl_max=9.0)) is None


def test_a_rule_of_ones_own_that_looks_at_nothing_is_told_with_what_there_is():
    rule = Guardrail(metric="approx_kl_maxx", at_most=1, response="roll back", why="tried out")
    rules = GuardrailSpec(rules={"mine": rule}).rules
    breach = unreported(rules, [updated(approx_kl_max=0.1), updated(loss=1.0)])
    assert (breach.guardrail, breach.response) == ("unknown figure", "stop")
    assert "'mine' checks approx_kl_maxx, which is not reported; reported are approx_kl_max, loss" in breach.detail
    assert unreported(rules, []) is None  # before the first update nothing is known
    assert unreported(DEFAULT_GUARDRAILS, [updated(loss=1.0)]) is None  # not every algorithm reports every figure


@pytest.mark.parametrize("given", [{"reward_limit": 0}, {"rollbacks_max": -1}, {"rules": {"x": {"metric": "loss"}}}])
def test_a_limit_that_makes_no_sense_is_refused(given):
    with pytest.raises(ValidationError):
        GuardrailSpec.model_validate(given)
