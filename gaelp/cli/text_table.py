"""A table as lines of text that fit the screen: columns wrap between words, and no word is ever broken."""

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len

__all__ = ["table_lines", "wrapped"]

_GAP = 2  # between two columns
_LONG_WORD = 24
_BELOW = "  "  # before a cell that is shown below its row
_BLANK = "\x00"  # takes the place of a space that must not end a line
_COMMAND = "gaelp "

Cells = list[list[str]]


def wrapped(text: str, columns: int, indent: str = "") -> str:
    """Text broken between words, each line after the first indented; words and commands are never broken.

    A command is what is between backticks, and a whole indented line that begins with `gaelp`.
    """
    return "\n".join(_wrapped_line(line, columns, indent) for line in text.splitlines() or [""])


def _wrapped_line(line: str, columns: int, indent: str) -> str:
    margin = line[: len(line) - len(line.lstrip())]
    if margin and line.lstrip().startswith(_COMMAND):
        return line
    parts = line.split("`")
    if len(parts) % 2:  # each backtick has a partner
        parts[1::2] = [part.replace(" ", _BLANK) for part in parts[1::2]]
    return "\n".join(_pieces("`".join(parts), columns, margin + indent)).replace(_BLANK, " ")


def _pieces(text: str, columns: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, max(columns, 1), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    ) or [""]


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int, rule: str = "─") -> list[str]:
    """The table in lines of at most `room` characters; the cells are shown as they are.

    If the longest words of all columns do not fit beside each other, the cells with the longest ones are shown below
    their rows, with the heading of their column. Only a word that is longer than a line makes one longer.
    """
    cells = [list(row) for row in rows]
    below = _move_long_words_below(columns, cells, room)
    emptied = _emptied(cells, below)
    kept = [number for number in range(len(columns)) if number not in emptied]
    heads = [columns[number] for number in kept]
    widths = _widths(heads, [[row[number] for number in kept] for row in cells], room)
    lines = _row_lines(heads, widths, break_words=True)
    lines.append(rule * (sum(widths) + _GAP * (len(widths) - 1)))
    for row, moved in zip(cells, below, strict=True):
        lines += _row_lines([row[number] for number in kept], widths)
        for number, cell in moved.items():
            lines += wrapped(f"{_BELOW}{columns[number]}: {cell}".replace("\n", f"\n{_BELOW}"), room).splitlines()
    return lines


def _move_long_words_below(columns: Sequence[str], cells: Cells, room: int) -> list[dict[int, str]]:
    """Empty the cells with the longest words until the rest fits; the first column, which names the row, stays.

    Words as long as ids and paths go below so that headings stay whole, others only if broken headings do not help.
    """
    below: list[dict[int, str]] = [{} for _ in cells]
    heads = [_longest_word(name) for name in columns]
    while True:
        longest = [max((_longest_word(row[number]) for row in cells), default=0) for number in range(len(columns))]
        if max(longest[1:], default=0) <= _LONG_WORD:
            heads = [0] * len(columns)
        emptied = _emptied(cells, below)
        used = [max(longest[number], heads[number]) for number in range(len(columns)) if number not in emptied]
        if sum(used) + _GAP * (len(used) - 1) <= room or not any(longest[1:]):
            return below
        column = max(range(1, len(columns)), key=longest.__getitem__)
        for row, moved in zip(cells, below, strict=True):
            if _longest_word(row[column]) == longest[column]:
                moved[column], row[column] = row[column], ""


def _emptied(cells: Cells, below: list[dict[int, str]]) -> set[int]:
    """The columns of which nothing is left beside the others, because cells were moved below."""
    moved = {number for row in below for number in row}
    return {number for number in moved if not any(row[number] for row in cells)}


def _widths(heads: Sequence[str], cells: Cells, room: int) -> list[int]:
    """Widths that fit: the widest columns wrap first, and words of headings are broken only if that is not enough."""
    by_column = list(zip(heads, *cells, strict=True))
    widths = [max(cell_len(line) for cell in column for line in cell.splitlines() or [""]) for column in by_column]
    room -= _GAP * (len(widths) - 1)
    for first in (0, 1):  # with and without the heading
        smallest = [max((1, *(_longest_word(cell) for cell in column[first:]))) for column in by_column]
        widths = _shrunk(widths, smallest, room)
    return widths


def _shrunk(widths: list[int], smallest: list[int], room: int) -> list[int]:
    """Take from the widest column, one character at a time, until all fit or none can become smaller."""
    widths = list(widths)
    while sum(widths) > room:
        can_shrink = [column for column, width in enumerate(widths) if width > smallest[column]]
        if not can_shrink:
            break
        widths[max(can_shrink, key=widths.__getitem__)] -= 1
    return widths


def _row_lines(cells: Sequence[str], widths: Sequence[int], *, break_words: bool = False) -> list[str]:
    columns = [_cell_lines(cell, width, break_words=break_words) for cell, width in zip(cells, widths, strict=True)]
    height = max(map(len, columns), default=0)
    for lines in columns:
        lines.extend([""] * (height - len(lines)))
    gap = " " * _GAP
    return [
        gap.join(text + " " * (width - cell_len(text)) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*columns, strict=True)
    ]


def _cell_lines(cell: str, width: int, *, break_words: bool) -> list[str]:
    lines: list[str] = []
    for line in cell.splitlines() or [""]:
        if cell_len(line) <= width:
            lines.append(line)
        elif break_words:
            lines += textwrap.wrap(line, width, break_on_hyphens=False)
        else:
            lines += _pieces(line, width)
    return lines


def _longest_word(cell: str) -> int:
    return max(map(cell_len, cell.split()), default=0)
