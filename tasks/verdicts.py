"""A verdict on the screen: the page that the approval form links to."""

from prefect import task
from prefect.artifacts import create_markdown_artifact

from gaelp.gates import Verdict
from gaelp.gates.verdict_context import VerdictContext
from gaelp.phases.looks import look_fact
from tasks.results import artifact_key, kept

__all__ = ["show_verdict"]


@task(name="verdict", task_run_name="verdict-{attempt}", **kept("verdict", "context"))
def show_verdict(
    code: str, outcome: str, attempt: int, looks: int, expires: str, *, verdict: Verdict, context: VerdictContext
) -> str:
    """Put the verdict where the person who decides can look at it; returns the path of the page in the UI.

    `expires` says until when it can be decided; empty if nobody is asked.
    """
    from gaelp.gates.verdict_page import verdict_markdown  # noqa: PLC0415 - matplotlib takes a second

    context = context.with_fact(*look_fact(looks, attempt))
    page = verdict_markdown(verdict, context.with_fact("can be decided until", expires) if expires else context)
    key = artifact_key(f"verdict-{verdict.gate.name}", verdict.evidence.run_id, attempt)
    made = create_markdown_artifact(markdown=page, key=key, description=f"{outcome}, code {code}")
    return f"/artifacts/artifact/{made}"
