from datetime import UTC, datetime

import pytest

from gaelp.errors import DataError
from gaelp.quality.last_check import keep_check, last_checks, page_path
from gaelp.quality.window_check import QualityResult
from gaelp.storage.schema import TableName


def result(table, rows=1):
    return QualityResult(suite="s", table=table, rows=rows, checked_at=datetime(2026, 1, 1, tzinfo=UTC), results=())


def test_the_latest_result_of_each_table_is_kept(tmp_path):
    assert last_checks(tmp_path).results == {}
    keep_check(tmp_path, result(TableName.CLICKS), "<html>")
    keep_check(tmp_path, result(TableName.EPISODES), "")
    keep_check(tmp_path, result(TableName.CLICKS, rows=9), "<html>")
    assert {table: each.rows for table, each in last_checks(tmp_path).results.items()} == {"clicks": 9, "episodes": 1}
    assert page_path(tmp_path, TableName.CLICKS).read_text() == "<html>"


def test_a_damaged_record_says_what_to_do(tmp_path):
    keep_check(tmp_path, result(TableName.CLICKS), "")
    (tmp_path / "quality" / "last-check.json").write_text("{")
    with pytest.raises(DataError, match="remove it and run `gaelp data check` again"):
        last_checks(tmp_path)
