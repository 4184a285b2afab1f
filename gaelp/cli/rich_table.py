"""A table on stdout, drawn by rich."""

import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["print_table"]

# A table that is piped should not be folded at the 80 columns of a terminal that is not there.
_PIPE_COLUMNS = 400


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print the cells as they are, brackets included."""
    table = Table(*columns, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(width=None if sys.stdout.isatty() else _PIPE_COLUMNS).print(table)
