import csv

from gaelp.importing.bad_rows import BadRow
from gaelp.importing.dead_letters import dead_letters


def test_rejected_rows_are_written_redacted_and_private(tmp_path):
    path = tmp_path / "new" / "letters.csv"
    with dead_letters(path) as letters:
        letters.add("log.csv", [BadRow(7, "column won: allowed: 0 or 1", 'me@example.org,"x",\0')])
        letters.add("log.csv", [BadRow(9, "line", "word " * 2000 + "4111 1111 1111 1111")])
    with path.open() as file:
        rows = list(csv.reader(file))
    assert rows[1] == ["log.csv", "7", "column won: allowed: 0 or 1", '[email],"x",\\0']
    assert len(rows[2][3]) == 2001
    assert (letters.rows, path.stat().st_mode & 0o077) == (2, 0)


def test_there_is_no_file_without_rejected_rows(tmp_path):
    with dead_letters(tmp_path / "letters.csv") as letters:
        letters.add("log.csv", [])
    assert not letters.path.exists()
