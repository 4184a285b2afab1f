"""Tables survive the way between workers, and files are whole or not there."""

import pyarrow as pa
import pytest

from beam_pipelines.table_files import (
    find_files,
    pack_table,
    read_json,
    read_whole,
    unpack_tables,
    write_json,
    write_table,
)
from gaelp.errors import BadInput
from gaelp.storage.schema import TableName


def test_packed_tables_are_small_and_come_back_in_order():
    large = pa.table({"x": range(100_000)})
    packed = [pack_table("rows", f"{start:03d}", large.slice(start, 10)) for start in (20, 0, 10)]
    assert all(len(content) < 2_000 for content in packed)
    packed.append(pack_table("other", "0", large.slice(0, 1)))
    tables = unpack_tables(packed)
    assert pa.concat_tables(tables["rows"])["x"].to_pylist() == list(range(30))
    assert tables["other"][0].num_rows == 1


def test_a_file_is_replaced_as_a_whole(tmp_path):
    for number in (1, 2):
        write_table(f"{tmp_path}/a/x.parquet", pa.table({"x": [number]}))
        write_json(f"{tmp_path}/a/x.json", {"x": number})
    assert [table.to_pylist() for table in read_whole(f"{tmp_path}/a/*.parquet")] == [[{"x": 2}]]
    assert list(read_json(f"{tmp_path}/a/*.json").values()) == [{"x": 2}]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["x.json", "x.parquet"]


def test_a_pattern_without_files_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no file matches"):
        find_files(TableName.CLICKS, f"{tmp_path}/*.parquet", None)
