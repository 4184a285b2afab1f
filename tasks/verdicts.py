"""A verdict on the screen: the table of its rules, and a page with a plot that the approval form links to."""

import base64

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from gaelp.gates import Verdict, as_markdown, as_rows
from gaelp.gates.verdict_plot import as_png
from gaelp.phases.looks import look_text
from tasks.results import artifact_key, kept

__all__ = ["show_verdict"]


@task(name="verdict", task_run_name="verdict-{attempt}", **kept("verdict"))
def show_verdict(code: str, outcome: str, attempt: int, looks: int, *, verdict: Verdict) -> str:
    """Put the verdict where the person who decides can look at it; returns the path of the page in the UI."""
    key = artifact_key(f"verdict-{verdict.gate.name}", verdict.evidence.run_id, attempt)
    image = base64.b64encode(as_png(verdict)).decode("ascii")
    create_table_artifact(table=as_rows(verdict), key=f"{key}-rules", description=f"{outcome}: {verdict.summary}")
    page = (
        f"{as_markdown(verdict)}\n\nCode of this verdict: `{code}`. This is {look_text(looks)}.\n\n"
        f"![Every rule, its bound and its threshold](data:image/png;base64,{image})\n"
    )
    made = create_markdown_artifact(markdown=page, key=key, description=verdict.summary)
    return f"/artifacts/artifact/{made}"
