"""A verdict on a page shows every rule, and no name in it can change the page."""

import pytest

from gaelp.config.places import names_in
from gaelp.gates import as_markdown, as_rows, judge, load_gate

GATES = {name: load_gate(name) for name in names_in("gates")}


@pytest.mark.parametrize("name", GATES)
def test_there_is_one_row_for_each_rule_and_one_line_for_each_row(name, passing, now):
    verdict = judge(GATES[name], passing(GATES[name]), now)
    rows = as_rows(verdict)
    assert [row["rule"] for row in rows] == [rule.metric for rule in GATES[name].criteria]
    lines = [line for line in as_markdown(verdict).splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(rows)
    assert lines[0] == "| rule | outcome | value | compared | threshold | sample | reason | why |"


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
        "sample": "1000 of 200 episodes",
        "reason": "the lower 95% bound of reward is 0.65; asked: at least 0.7",
        "why": gate.criteria[0].why,
    }
    assert (second["value"], second["compared"]) == ("none", "lower_95: none")


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
    assert [line for line in page.splitlines() if line.startswith("##")] == ["## Gate pilot: PASS"]
    assert r"a\|b \#\# Gate pilot: PASS \[x\](http://x) \<script\>" in page
