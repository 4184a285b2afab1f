"""A table that fits the screen, drawn by rich."""

from collections.abc import Iterable, Sequence
from typing import IO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

__all__ = ["column_widths", "print_table"]

_GAP = 2  # between two columns: the padding and the divider


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], stream: IO[str], room: int) -> None:
    """Print the cells as they are, brackets included, in lines of at most `room` characters.

    Outside a terminal no word is broken, even if the line becomes longer: scripts search for ids and paths.
    """
    cells = [list(columns), *(list(row) for row in rows)]
    widths = column_widths(cells, room, break_words=stream.isatty())
    heads = [Column(name, width=width, overflow="fold") for name, width in zip(columns, widths, strict=True)]
    table = Table(*heads, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for row in cells[1:]:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=stream, width=max(room, sum(widths) + _GAP * len(widths))).print(table)


def column_widths(cells: Sequence[Sequence[str]], room: int, *, break_words: bool) -> list[int]:
    """Widths that fit: the widest columns wrap between words first; words are broken only if that is not enough."""
    by_column = list(zip(*cells, strict=True))
    widths = [max(cell_len(line) for cell in column for line in cell.splitlines() or [""]) for column in by_column]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=1) for column in by_column]
    room -= _GAP * (len(widths) - 1)
    widths = _shrunk(widths, words, room)
    return _shrunk(widths, [1] * len(widths), room) if break_words else widths


def _shrunk(widths: list[int], smallest: list[int], room: int) -> list[int]:
    """Take from the widest column, one character at a time, until all fit or none can become smaller."""
    widths = list(widths)
    while sum(widths) > room:
        can_shrink = [column for column, width in enumerate(widths) if width > smallest[column]]
        if not can_shrink:
            break
        widths[max(can_shrink, key=widths.__getitem__)] -= 1
    return widths
