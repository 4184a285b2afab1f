"""The form that a person fills in at a gate, and how its answer is read: strictly, and never from defaults alone."""

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import pydantic
from prefect.input import RunInput
from pydantic import Field

from flows.connection import ERROR_MESSAGE
from gaelp.gates.approval_effect import answer_effects, approval_effect
from gaelp.gates.decisions import CODE_LENGTH, GateChoice, GateDecision, GateQuestion
from gaelp.gates.verdict_context import VerdictContext
from gaelp.gates.verdict_table import plain_text
from gaelp.money import MICROS_PER_UNIT
from gaelp.phases.looks import look_fact

__all__ = ["BudgetGateForm", "GateForm", "form_for", "form_of", "prefilled", "read_answer"]

FormT = TypeVar("FormT", bound=RunInput)

_NOTHING_MORE = VerdictContext()


class GateForm(RunInput):
    """A person's answer at a gate; nothing is preset, so that nobody decides by sending the form as it is."""

    decision: GateChoice
    verdict: str = Field(min_length=CODE_LENGTH, max_length=64, pattern="^[0-9a-f]+$")
    who: str = Field(min_length=1, max_length=200, title="Your name")
    why: str = Field(min_length=1, max_length=500, title="Why (for whoever asks later)")


class BudgetGateForm(GateForm):
    """A gate after which money is spent: the approval names how much a day."""

    daily_budget: int = Field(
        default=10, ge=10, le=500, description="At most this much a day, in the account's currency"
    )


# Which gates ask for more than yes or no: the one after a phase, and any that takes its place.
_FORMS: dict[str, type[GateForm]] = {
    "history": BudgetGateForm,
    "history-without-propensities": BudgetGateForm,
    "pilot": BudgetGateForm,
}


def form_for(
    question: GateQuestion, page: str | None, context: VerdictContext = _NOTHING_MORE, notice: str = ""
) -> type[GateForm]:
    """The form of one question; above its fields is what a decision needs.

    `notice` is why the last answer did not count, where there was one.
    """
    return prefilled(_shown(question), _text(question, page, context, notice))


def read_answer(question: GateQuestion, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer's fields for a decision, checked against the strict form whatever form the server was given."""
    form = _FORMS.get(question.gate, GateForm)
    strict = form.model_validate({key: text.strip() if isinstance(text, str) else text for key, text in answer.items()})
    named = strict.verdict
    hash_if_named = question.evidence_hash if question.evidence_hash.startswith(named) else named.ljust(64, "0")
    limits = {"daily": strict.daily_budget * MICROS_PER_UNIT} if isinstance(strict, BudgetGateForm) else {}
    return {
        "choice": strict.decision,
        "evidence_hash": hash_if_named,
        "who": strict.who,
        "why": strict.why,
        "limits_micros": limits,
    }


def form_of(decision: GateDecision) -> dict[str, Any]:
    """What a decision made elsewhere looks like in the form that the server waits for."""
    said = {"decision": decision.choice, "verdict": decision.evidence_hash, "who": decision.who, "why": decision.why}
    daily = decision.limits_micros.get("daily")
    return said if daily is None else said | {"daily_budget": daily // MICROS_PER_UNIT}


def prefilled(form: type[FormT], description: str | None = None, **defaults: Any) -> type[FormT]:
    """A form with defaults of this run; each field keeps its limits, which Prefect's own way of prefilling drops."""
    fields: dict[str, Any] = {}
    for name, value in defaults.items():
        field = copy.deepcopy(form.model_fields[name])
        field.default = value
        fields[name] = (field.annotation, field)
    made = pydantic.create_model(form.__name__, __base__=form, **fields)
    if description is not None:
        made._description = description  # where Prefect looks for it
    return made


def _shown(question: GateQuestion) -> type[GateForm]:
    """The form as the UI shows it: the server refuses a word that is not offered and the code of another verdict.

    The decision is typed, as in a terminal: a list of choices in this dialog closes as soon as it is clicked on. Titles
    say everything, as each further line takes one from the text above the fields on a small screen.
    """
    *others, last = question.choices
    decision = Field(
        title=f"Decision: type {', '.join(others)} or {last}" if others else f"Decision: type {last}",
        description=answer_effects(question.choices),
        pattern=f"^({'|'.join(question.choices)})$",
        json_schema_extra={ERROR_MESSAGE: f"type {', '.join(others)} or {last}" if others else f"type {last}"},
    )
    verdict = Field(
        title=f"Code of the verdict ({CODE_LENGTH} characters, see above)",
        pattern=f"^{question.code}",
        json_schema_extra={
            ERROR_MESSAGE: "this is not the code of the verdict: look at the verdict above and copy its code from there"
        },
    )
    fields: dict[str, Any] = {"decision": (str, decision), "verdict": (str, verdict)}
    return pydantic.create_model(GateForm.__name__, __base__=_FORMS.get(question.gate, GateForm), **fields)


def _text(question: GateQuestion, page: str | None, context: VerdictContext, notice: str) -> str:
    verdict = question.verdict
    effect = approval_effect(verdict.gate.follows)
    context = context.with_fact(*look_fact(question.looks, question.attempt))
    if verdict.gate.file:
        context = context.with_fact("rules", verdict.gate.file.text)
    page_link = f"[Look at every rule, the bidders and the learning curve]({page}). " if page else ""
    paragraphs = [
        f"**The last answer does not count.** {plain_text(notice)}" if notice else "",
        f"**{verdict.outcome.upper()}, run {question.run_id}.** {plain_text(f'{verdict.summary} {context.progress}')}",
        f"Code of this verdict: `{question.code}`. {page_link}Expires {question.expires_at:%Y-%m-%d %H:%M} UTC.",
        f"**Approving allows** {effect.allows}. **It does not allow** {effect.does_not_allow}.",
        "\n".join(f"- {label}: {plain_text(text)}" for label, text in context.facts),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
