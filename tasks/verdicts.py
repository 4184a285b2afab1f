"""A verdict on the screen: the table of its rules, and a page with a plot that the approval form links to."""

import base64

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from gaelp.gates import Verdict, as_markdown, as_rows
from gaelp.gates.verdict_plot import as_png
from tasks.results import KEPT, artifact_key

__all__ = ["show_verdict"]


@task(name="verdict", task_run_name="verdict-{attempt}", **KEPT)
def show_verdict(verdict: dict[str, object], attempt: int) -> str:
    """Put the verdict where the person who decides can look at it; returns the path of the page in the UI."""
    judged = Verdict.model_validate(verdict)
    key = artifact_key(f"verdict-{judged.gate.name}", judged.evidence.run_id, attempt)
    image = base64.b64encode(as_png(judged)).decode("ascii")
    create_table_artifact(table=as_rows(judged), key=f"{key}-rules", description=judged.summary)
    page = f"{as_markdown(judged)}\n\n![Every rule, its bound and its threshold](data:image/png;base64,{image})\n"
    made = create_markdown_artifact(markdown=page, key=key, description=judged.summary)
    return f"/artifacts/artifact/{made}"
