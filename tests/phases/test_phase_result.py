"""What an attempt proved is read back as it was written, or not at all."""

import pytest

from gaelp.errors import DataError
from gaelp.phases.phase_result import ResultTable, read_result, write_result


def test_a_result_is_read_back_as_it_was_written(make_result, tmp_path):
    table = ResultTable(columns=("a", "b"), rows=(("1", "2"),), above="title")
    result = make_result("r", extension=2, tables=(table,), text="meaning")
    path = write_result(tmp_path, result)
    assert path == result.file(tmp_path) == tmp_path / "runs/r/simulation/1/result-2.json"
    assert read_result(path) == result
    assert result.metrics == result.verdict.evidence.metrics


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\xff", b'{"phase": "simulation"}'])
def test_a_damaged_result_is_named_with_the_way_out(tmp_path, content):
    path = tmp_path / "result.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"result\.json is no result .* restore it from a copy, or begin another run"):
        read_result(path)
