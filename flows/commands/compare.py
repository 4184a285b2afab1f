"""`gaelp compare`: two or more runs side by side."""

from typing import Annotated

import typer

from gaelp.cli.options import ConfigOption, JsonOption
from gaelp.cli.output import show_json, show_paragraph, show_table
from gaelp.cli.startup import prepare_reading
from gaelp.phases.gate_approval import gate_approvals
from gaelp.phases.run_comparison import compare_runs, comparison_cells

__all__ = ["compare"]


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN", help="Two or more ids, as `gaelp runs` shows them.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put two or more runs side by side: config, agent, market, seed, figures with intervals, verdict.

    - `gaelp compare 20261116-020641-7f3a9c 20261116-031502-b81d20`

    Figures are those of each run's latest attempt, with 95% intervals; "shifted" is the market with other parameters.
    """
    settings = prepare_reading(config, in_home=True).settings
    comparison = compare_runs(settings.home, runs, gate_approvals(settings).decisions())
    if as_json:
        show_json(comparison.model_dump(mode="json"))
        return
    show_table(("", *runs), comparison_cells(comparison))
    if comparison.unrecorded:
        show_paragraph(f"The settings of {', '.join(comparison.unrecorded)} were not recorded: they may differ too.")
    elif not comparison.differences:
        show_paragraph("All settings are the same.")
    if len({run.judged_on for run in comparison.runs}) > 1:
        show_paragraph("The runs were judged on different episodes: compare their leads, not their rewards.")
    for run in comparison.runs:
        if run.stopped_early:
            show_paragraph(
                f"Run {run.run_id} was stopped early: its figures are not those of a whole training."
                f" `gaelp status {run.run_id}` shows the cause."
            )
