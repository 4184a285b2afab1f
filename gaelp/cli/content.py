"""`gaelp content`: check adverts before they are published, and decide on the doubtful ones."""

import unicodedata
from pathlib import Path
from typing import Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare, prepare_reading
from gaelp.clock import SystemClock
from gaelp.content import ContentVerdict, QueuedCase, ReviewQueue, load_checker, read_creatives
from gaelp.content.review_queue import reviews_place
from gaelp.errors import BadInput, Refused, WaitingForPerson

__all__ = ["app", "check", "decide", "queue"]

app = typer.Typer(no_args_is_help=True)

_CASE_DIGITS = 12
_EXCERPT_MAX = 60


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="Creatives in a .yaml, .json or .csv file.")],
    policy: Annotated[str, typer.Option("--policy", help="A name from configs/content or a path.")] = "policy",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do not put the doubtful ones into the review queue.", show_default=False)
    ] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check every creative of a file: allow, review or block, with each finding and its reason.

    - `gaelp content check adverts.yaml`

    - `gaelp content check adverts.csv --json --dry-run`

    Exits 0 if all are allowed, 3 if one is blocked, 4 if none is blocked and one waits for a person.
    """
    reviews = ReviewQueue(reviews_place(prepare(config, overrides).settings), SystemClock())
    checker = load_checker(policy)
    verdicts = []
    for creative in read_creatives(file):
        verdict = checker.check(creative)
        if verdict.outcome == "review" and not dry_run:
            reviews.add(creative, verdict)
        verdicts.append(reviews.settle(verdict))
    outcomes = [verdict.outcome for verdict in verdicts]
    counts = {outcome: outcomes.count(outcome) for outcome in ("allow", "review", "block")}
    if as_json:
        show_json({"counts": counts, "verdicts": [verdict.model_dump(mode="json") for verdict in verdicts]})
    else:
        _show_verdicts(verdicts)
        show_text(f"{counts['allow']} allowed, {counts['review']} for review, {counts['block']} blocked.")
    if counts["review"]:
        say("`gaelp content queue` lists what waits; `gaelp content decide CASE approve|reject` decides.")
    if counts["block"]:
        raise typer.Exit(Refused.exit_code)
    if counts["review"]:
        raise typer.Exit(WaitingForPerson.exit_code)


@app.command()
def queue(
    everything: Annotated[
        bool, typer.Option("--all", help="Show what has been decided, too.", show_default=False)
    ] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the creatives that wait for a person, with what was found in them.

    - `gaelp content queue`

    - `gaelp content queue --all --json`
    """
    cases = _existing_queue(config, overrides).cases(waiting_only=not everything)
    if as_json:
        show_json({"cases": [case.model_dump(mode="json") for case in cases]})
    elif cases:
        show_table(("case", "creative", "headline", "found", "decision"), [_case_row(case) for case in cases])
    else:
        show_text("Nothing waits for a person.")


@app.command()
def decide(
    case: Annotated[str, typer.Argument(help="The case, or at least its first eight digits.")],
    choice: Annotated[str, typer.Argument(metavar="approve|reject", help="What you decide.")],
    who: Annotated[str, typer.Option("--who", help="Who decides.")],
    why: Annotated[str, typer.Option("--why", help="The reason, for those who read it later.")],
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve or reject one creative that waits. The decision holds for exactly this creative and these findings.

    - `gaelp content decide 3f9a02c1 approve --who anna --why "study attached to the ticket"`

    An edited creative, or one in which a newer policy finds more, needs a new decision.
    """
    if choice not in ("approve", "reject"):
        raise BadInput(f"saw {choice!r}; allowed: approve, reject. Say which.")
    decided = _existing_queue(config, overrides).decide(
        case, "approve" if choice == "approve" else "reject", who=who, why=why
    )
    if as_json:
        show_json(decided.model_dump(mode="json"))
    else:
        done = "approved" if choice == "approve" else "rejected"
        show_text(f"{decided.creative.id}: {done} by {who.strip()} (case {decided.case[:_CASE_DIGITS]}).")


def _existing_queue(config: str | None, overrides: list[str] | None) -> ReviewQueue:
    return ReviewQueue(reviews_place(prepare_reading(config, overrides).settings), SystemClock())


def _show_verdicts(verdicts: list[ContentVerdict]) -> None:
    rows = []
    for verdict in verdicts:
        first = (verdict.creative_id, verdict.outcome)
        decided = f"decided by {verdict.decided_by}" if verdict.decided_by else ""
        findings = [
            (finding.severity, f"{finding.category}: {finding.rule}", _visible(finding.excerpt), finding.why)
            for finding in verdict.findings
        ]
        for place, cells in enumerate(findings or [("", "", "", "")]):
            rows.append((*(first if place == 0 else ("", "")), *cells[:3], decided or cells[3]))
    show_table(("creative", "verdict", "severity", "found", "excerpt", "why"), rows)


def _case_row(case: QueuedCase) -> tuple[str, ...]:
    rules = dict.fromkeys(finding.rule for finding in case.verdict.findings)
    decision = case.decision
    decided = f"{decision.choice} by {decision.who}: {decision.why}" if decision else "waits"
    return case.case[:_CASE_DIGITS], case.creative.id, _visible(case.creative.headline), ", ".join(rules), decided


def _visible(text: str) -> str:
    """An excerpt in which hidden and control characters can be seen, so that none of them acts on the terminal."""
    shown = "".join(
        f"<U+{ord(sign):04X}>" if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") else sign
        for sign in text
    )
    return shown if len(shown) <= _EXCERPT_MAX else f"{shown[: _EXCERPT_MAX - 1]}…"
