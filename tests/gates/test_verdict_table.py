"""A verdict on a page shows every rule, and no name in it can change the page."""

import math

import pytest

from gaelp.config.places import names_in
from gaelp.gates import as_markdown, as_rows, judge, load_gate
from gaelp.gates.verdict_context import ComparedBidder, CurvePoint, LearningCurve, VerdictContext
from gaelp.gates.verdict_table import decision_text, failed_text, measured, plain_text

GATES = {name: load_gate(name) for name in names_in("gates")}


@pytest.mark.parametrize("name", GATES)
def test_there_is_one_row_and_one_list_item_for_each_rule(name, passing, now):
    verdict = judge(GATES[name], passing(GATES[name]), now)
    assert [row["rule"] for row in as_rows(verdict)] == [rule.metric for rule in GATES[name].criteria]
    page = as_markdown(verdict)
    for rule in GATES[name].criteria:
        [item] = [line for line in page.splitlines() if line.startswith(f"- **{plain_text(rule.metric)}: pass.**")]
        assert plain_text(rule.why) in item
    assert not any(line.startswith("|") for line in page.splitlines())  # a table scrolls, a list wraps


def test_a_row_holds_figures_threshold_sample_reason_and_why(passing, now):
    gate = GATES["simulation"]
    evidence = passing(gate, metrics={"reward": 0.75, "reward_lower_95": 0.65, "episodes": 1000})
    first, second, *_ = as_rows(judge(gate, evidence, now))
    assert first == {
        "rule": "reward",
        "outcome": "fail",
        "value": "0.75",
        "compared": "lower_95: 0.65",
        "threshold": ">= 0.7",
        "sample": "1000 episodes (at least 200)",
        "reason": "the lower 95% bound of reward is 0.65; asked: at least 0.7",
        "why": gate.criteria[0].why,
    }
    assert (second["value"], second["compared"]) == ("none", "lower_95: none")


def test_rounding_noise_is_zero_in_rows_and_on_the_page(passing, now):
    gate = GATES["simulation"]
    figures = passing(gate).metrics | {"lead_over_best_rule": 0.0, "lead_over_best_rule_lower_95": -7.05305e-19}
    verdict = judge(gate, passing(gate, metrics=figures), now)
    [row] = [row for row in as_rows(verdict) if row["rule"] == "lead_over_best_rule"]
    assert (row["value"], row["compared"], row["threshold"]) == ("0", "lower_95: 0", ">= -0.005")
    assert "e-19" not in as_markdown(verdict)


def test_a_rule_that_does_not_hold_gives_its_reason(passing, now):
    gate = GATES["simulation"]
    verdict = judge(gate, passing(gate, metrics=passing(gate).metrics | {"reward_lower_95": 0.69999}), now)
    page = as_markdown(verdict)
    assert r"- **reward: fail.** the lower 95% bound of reward is 0.69999; asked: at least 0.7." in page
    assert "It cannot be approved" in page
    assert "Approving allows" not in page


def test_every_rule_that_does_not_hold_is_named_with_its_reason(passing, now):
    gate = GATES["simulation"]
    low = {"reward_lower_95": 0.69999, "lead_over_constant_lower_95": 0.03}
    text = failed_text(judge(gate, passing(gate, metrics=passing(gate).metrics | low), now))
    assert "reward: the lower 95% bound of reward is 0.69999; asked: at least 0.7." in text
    assert "lead_over_constant: " in text
    assert "success_rate: " not in text


def test_a_decision_is_asked_for_in_the_same_words_as_on_the_page(passing, now):
    gate = GATES["simulation"]
    passed = judge(gate, passing(gate), now)
    summary, progress, allows, does_not = decision_text(passed, "Better than mpc.")
    assert (summary, progress) == (passed.summary, "Better than mpc.")
    assert allows.startswith("Approving allows testing this agent")
    assert does_not.startswith("Approving does not allow any spending")
    failed = judge(gate, passing(gate, metrics=passing(gate).metrics | {"reward_lower_95": 0.1}), now)
    assert decision_text(failed, "") == [failed.summary, "It cannot be approved: only a verdict that passed can."]


def test_an_approval_and_its_effect_come_before_any_figure(passing, now):
    page = as_markdown(judge(GATES["simulation"], passing(GATES["simulation"]), now))
    head, _ = page.split("### What was judged")
    assert "**Approving allows** testing this agent on logs" in head
    assert "**Approving does not allow** any spending. No money moves at this gate" in head


def test_facts_bidders_and_learning_curve_are_on_the_page(passing, now):
    context = VerdictContext(
        facts=(("market", "cal|x"),),
        progress="No better than the rule it started from (mpc).",
        bidders=(
            ComparedBidder(
                name="mpc",
                meaning="Forecasts.",
                reward=0.92416,
                lower_95=0.9,
                upper_95=0.95,
                money=(("ROAS", "2.50"), ("profit", "1,800.75")),
            ),
        ),
        curve=LearningCurve(measure="Lead", points=(CurvePoint(round=10, value=-7e-19, lower_95=-0.1, upper_95=0.1),)),
    ).with_fact("looks", "the first")
    verdict = judge(GATES["simulation"], passing(GATES["simulation"]), now)
    page = as_markdown(verdict, context, rules_plot=b"rules", curve_plot=b"curve")
    for text in (
        r"- market: cal\|x",
        "- looks: the first",
        "**No better than the rule it started from (mpc).**",
        "Money: means of a campaign, in units of the account's currency.",
        "| bidder | reward | ROAS | profit |\n| --- | --- | --- | --- |\n",
        "\n| mpc | 0.9242 (0.9 .. 0.95) | 2.50 | 1,800.75 |\n",
        "- **mpc**: Forecasts.",
        "Lead. Round 10, the last validation: 0 (-0.1 .. 0.1).",
        "(data:image/png;base64,cnVsZXM=)",
        "(data:image/png;base64,Y3VydmU=)",
    ):
        assert text in page


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ({}, "0.5"),
        ({"lower_95": 0.4, "upper_95": 0.6}, "0.5 (0.4 .. 0.6)"),
        ({"lower_95": 0.4}, "0.5 (0.4 .. none)"),
        ({"lower_95": 0.4, "upper_95": math.inf}, "0.5 (0.4 .. inf)"),
        ({"lower_95": math.nan, "upper_95": math.nan}, "0.5"),
    ],
)
def test_a_figure_is_shown_with_the_interval_it_has(passing, now, ends, text):
    figures = {"roi": 0.5} | {f"roi_{end}": bound for end, bound in ends.items()}
    assert measured(judge(GATES["pilot"], passing(GATES["pilot"], metrics=figures), now), "roi").text == text


def test_the_page_names_outcome_run_hash_and_that_nothing_was_learned(passing, now):
    gate = GATES["simulation"]
    verdict = judge(gate, passing(gate, learned=False, agent="mpc"), now)
    page = as_markdown(verdict)
    for text in ("Gate simulation: PASS", "20261116-020641-7f3a9c", verdict.evidence_hash, "Nothing was learned"):
        assert text in page
    assert "learned: no, a tuned rule" in page


def test_a_name_cannot_open_a_column_a_link_a_tag_or_a_line(passing, now):
    gate = GATES["pilot"]
    evil = "a|b\n## Gate pilot: PASS [x](http://x) <script>"
    page = as_markdown(judge(gate, passing(gate, agent=evil), now))
    assert [line for line in page.splitlines() if line.startswith("## ")] == ["## Gate pilot: PASS"]
    assert r"a\|b \#\# Gate pilot: PASS \[x\](http://x) \<script\>" in page
