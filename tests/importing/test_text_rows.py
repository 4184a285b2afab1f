import gzip

import pytest

from gaelp.errors import DataError
from gaelp.importing.text_rows import LINE_CHARACTERS_MAX, check_log_file, first_lines, text_rows


def all_rows(path, width=2, **options):
    """Line, fields and fault of every row."""
    return [
        (int(line), fields, part.faults.get(position, (None,))[0])
        for part in text_rows(path, delimiter=",", width=width, **options)
        for position, (line, fields) in enumerate(zip(part.line, part.fields, strict=True))
    ]


def texts(path, width=2):
    return [text for part in text_rows(path, delimiter=",", width=width) for text in part.texts]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_have_the_line_they_begin_at_and_their_text(tmp_path, end):
    path = tmp_path / "log.csv"
    path.write_bytes(end.join(["a,b", "", f'1,"x{end}y"', "2,3", ""]).encode())
    assert all_rows(path) == [(1, ["a", "b"], None), (3, ["1", f"x{end}y"], None), (5, ["2", "3"], None)]
    assert texts(path) == ["a,b", f'1,"x{end}y"', "2,3"]


def test_lines_are_counted_across_parts(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("1,2\n\n" * 500)
    assert [line for line, _, _ in all_rows(path, rows_at_once=7)] == list(range(1, 1001, 2))


def test_a_quotation_mark_may_be_an_ordinary_character(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('5" screen,1\n')
    assert all_rows(path, quoted=False) == [(1, ['5" screen', "1"], None)]


@pytest.mark.parametrize("after", ["", '",9\n', '"\n' + "8,8\n" * 200 + '"\n'])
def test_a_stray_quotation_mark_costs_its_own_line_and_no_other(tmp_path, after):
    path = tmp_path / "log.csv"
    path.write_text("0,0\n" + '1,"x\n' + "2,2\n" * 150 + after)
    rows = all_rows(path)
    assert rows[1] == (2, [], "quotation marks")
    assert [fields for _, fields, _ in rows].count(["2", "2"]) == 150


def test_a_line_far_too_long_is_refused_and_the_next_is_read(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("1," + "x" * 3 * LINE_CHARACTERS_MAX + "\n2,3\n" + "y" * LINE_CHARACTERS_MAX + "\n4,5")
    assert all_rows(path) == [
        (1, [], "line"),
        (2, ["2", "3"], None),
        (3, [], "quotation marks"),
        (4, ["4", "5"], None),
    ] or all_rows(path)[2][2] in {"number of fields", "quotation marks"}
    assert max(map(len, texts(path))) <= LINE_CHARACTERS_MAX + 2


def test_a_long_line_inside_an_open_quotation_is_refused_as_well(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('1,"x\n' + "x" * 2 * LINE_CHARACTERS_MAX + "\n2,3\n")
    assert all_rows(path) == [(1, [], "quotation marks"), (2, [], "line"), (3, ["2", "3"], None)]


def test_lines_with_nul_or_other_bytes_are_refused_one_by_one(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(b"1,2\n1,\x00\n\xe4,2\n3,\xc3\xa4\n1,2,3\n")
    assert [(line, fault) for line, _, fault in all_rows(path)] == [
        (1, None),
        (2, "line"),
        (3, "line"),
        (4, None),
        (5, "number of fields"),
    ]


def test_gzip_is_unpacked_and_a_cut_one_is_an_error(tmp_path):
    path = tmp_path / "log.csv.gz"
    whole = gzip.compress(b"1,2\n3,4\n" * 1000)
    path.write_bytes(whole)
    check_log_file(path)
    assert len(all_rows(path)) == 2000
    assert first_lines(path, 1) == ["1,2"]
    path.write_bytes(whole[:-20])
    with pytest.raises(DataError, match=r"log\.csv\.gz cannot be unpacked: .*copy it again"):
        all_rows(path)


def test_a_text_file_is_not_parquet_nor_the_other_way_round(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"PAR1")
    check_log_file(path, parquet=True)
    with pytest.raises(DataError, match=r"Rename it to end in \.parquet"):
        check_log_file(path)
    path.write_bytes(b"a,b")
    check_log_file(path)
    with pytest.raises(DataError, match="is not a Parquet file"):
        check_log_file(path, parquet=True)
