from datetime import timedelta

import pytest
from prefect.input import RunInput
from pydantic import Field, ValidationError

from flows.forms import BudgetGateForm, GateForm, form_for, form_of, prefilled, read_answer
from gaelp.gates.decisions import GateDecision, GateQuestion
from gaelp.gates.verdict_context import VerdictContext

SAID = {"verdict": "0" * 8, "who": "Ada", "why": "every rule holds"}


class Budget(RunInput):
    daily_budget: int = Field(ge=10, le=500)


@pytest.fixture
def question(passing_verdict):
    verdict = passing_verdict()
    at = verdict.judged_at
    return GateQuestion(
        run_id=verdict.evidence.run_id,
        gate=verdict.gate.name,
        attempt=1,
        verdict=verdict,
        model_hash="0" * 64,
        opened_at=at,
        remind_at=at + timedelta(hours=1),
        expires_at=at + timedelta(hours=2),
    )


def test_the_form_names_the_file_whose_rules_judged(question):
    assert f"- rules: {question.verdict.gate.file.text}" in form_for(question, None)._description


def test_an_empty_form_is_no_answer_and_nothing_in_it_is_preset_or_optional(question):
    with pytest.raises(ValidationError) as refused:
        GateForm()
    fields = {"decision", "verdict", "who", "why"}
    assert {error["loc"][0] for error in refused.value.errors()} == fields
    schema = form_for(question, None).model_json_schema()
    assert set(schema["required"]) == fields  # the UI calls any other field optional
    assert not any("default" in field for field in schema["properties"].values())


def test_the_decision_is_typed_since_a_list_of_choices_closes_when_it_is_clicked_on(question):
    decision = form_for(question, None).model_json_schema()["properties"]["decision"]
    assert "enum" not in decision
    assert decision["title"] == "Decision: type approve, reject or rerun"


@pytest.mark.parametrize("wrong", [{"verdict": "0" * 8}, {"decision": "Approve"}, {"decision": "yes"}])
def test_a_mistyped_code_or_decision_is_refused_by_the_form_that_the_server_checks(question, wrong):
    form, said = form_for(question, None), SAID | {"decision": "approve", "verdict": question.code}
    form(**said)
    with pytest.raises(ValidationError, match="pattern"):
        form(**said | wrong)


def test_spaces_around_an_answer_do_no_harm(question):
    said = SAID | {"decision": "approve", "verdict": f"{question.code} \n"}
    assert read_answer(question, said)["evidence_hash"] == question.evidence_hash


def test_the_form_begins_with_why_the_last_answer_does_not_count(question):
    assert form_for(question, None, notice="too late")._description.startswith(
        "**The last answer does not count.** too late"
    )
    assert "does not count" not in form_for(question, None)._description


@pytest.mark.parametrize("amount", [9000, 501, 9, -1, "500.5"])
def test_a_prefilled_field_keeps_its_limits(amount):
    assert prefilled(Budget, daily_budget=25)().daily_budget == 25
    with pytest.raises(ValidationError):
        prefilled(Budget, daily_budget=25)(daily_budget=amount)


def test_the_limits_reach_the_form_that_the_server_checks():
    schema = prefilled(BudgetGateForm, daily_budget=25).model_json_schema()
    assert schema["properties"]["daily_budget"] == {
        "default": 25,
        "description": "At most this much a day, in the account's currency",
        "maximum": 500,
        "minimum": 10,
        "title": "Daily Budget",
        "type": "integer",
    }


def test_an_answer_is_checked_again_whatever_form_it_was_given_in(question):
    class Lax(RunInput):
        decision: str = "approve"
        verdict: str = question.code
        who: str = "Ada"
        why: str = "?"
        daily_budget: int = 9000

    asked = question.model_copy(update={"gate": "history"})
    with pytest.raises(ValidationError, match="500"):
        read_answer(asked, Lax().model_dump())


def test_the_money_that_was_approved_is_whole_micros(question):
    asked = question.model_copy(update={"gate": "history"})
    said = SAID | {"verdict": question.code}
    answer = read_answer(asked, BudgetGateForm(decision="approve", daily_budget=25, **said).model_dump())
    assert answer["limits_micros"] == {"daily": 25_000_000}


@pytest.mark.parametrize("named", ["0" * 8, "f" * 64])
def test_the_code_of_another_verdict_is_not_taken_for_this_one(question, named):
    answer = read_answer(question, GateForm(decision="approve", **SAID | {"verdict": named}).model_dump())
    assert answer["evidence_hash"] != question.evidence_hash


def test_the_code_of_this_verdict_is_read_as_its_whole_hash(question):
    answer = read_answer(question, GateForm(decision="approve", **SAID | {"verdict": question.code}).model_dump())
    assert answer["evidence_hash"] == question.evidence_hash


@pytest.mark.parametrize(("outcome", "offered"), [("pass", "approve|reject|rerun"), ("inconclusive", "reject|rerun")])
def test_only_what_may_be_answered_is_offered(question, outcome, offered):
    asked = question.model_copy(update={"verdict": question.verdict.model_copy(update={"outcome": outcome})})
    schema = form_for(asked, None).model_json_schema()
    assert schema["properties"]["decision"]["pattern"] == f"^({offered})$"


def test_the_form_says_what_to_look_at(question):
    text = form_for(question, "http://127.0.0.1:4200/artifacts/artifact/1")._description
    assert question.code in text
    assert question.run_id in text
    assert "(http://127.0.0.1:4200/artifacts/artifact/1)" in text


def test_the_form_says_what_an_approval_allows_and_what_was_judged(question):
    context = VerdictContext(facts=(("market", "cal"),), progress="No better than the rule it started from (mpc).")
    text = form_for(question, None, context)._description
    for part in (
        "**Approving allows** testing",
        "No money moves",
        "No better than the rule it started from",
        "- market: cal",
    ):
        assert part in text
    assert "- runs judged so far: this is the first run judged on these data; the more runs" in text


@pytest.mark.parametrize(("gate", "limits"), [("simulation", {}), ("history", {"daily": 25_000_000})])
def test_a_decision_made_elsewhere_fills_the_form_in_as_a_person_would(question, gate, limits):
    asked = question.model_copy(update={"gate": gate})
    said = {"choice": "approve", "who": "Ada", "why": "every rule holds", "limits_micros": limits}
    decision = GateDecision(
        run_id=asked.run_id,
        gate=gate,
        evidence_hash=asked.evidence_hash,
        decided_at=asked.opened_at,
        through="command",
        **said,
    )
    filled = form_for(asked, None).model_validate(form_of(decision), strict=True)
    assert read_answer(asked, filled.model_dump()) == said | {"evidence_hash": asked.evidence_hash}
