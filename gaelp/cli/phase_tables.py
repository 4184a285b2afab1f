"""What a phase proved, as tables in the terminal."""

from gaelp.cli.output import show_paragraph, show_table, show_text
from gaelp.gates import as_rows
from gaelp.phases.phase_result import PhaseResult

__all__ = ["show_phase"]


def show_phase(result: PhaseResult) -> None:
    """Print what a phase proved: its tables, what the gate says, and what it means."""
    for table in result.tables:
        if table.above:
            show_paragraph(table.above)
        show_table(table.columns, table.rows)
        if table.below:
            show_paragraph(table.below)
    columns = ("rule", "outcome", "compared", "threshold")
    show_text("")
    show_table(columns, [[row[column] for column in columns] for row in as_rows(result.verdict)])
    show_paragraph(result.verdict.summary)
    for paragraph in result.text.splitlines():
        show_paragraph(paragraph)
