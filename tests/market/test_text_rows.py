import pytest

from gaelp.errors import DataError
from gaelp.market.text_rows import check_log_file, original_lines, text_rows


def all_rows(path, **options):
    return [
        (int(first), int(last), fields)
        for part in text_rows(path, delimiter=",", **options)
        for fields, first, last in zip(part.fields, part.first_line, part.last_line, strict=True)
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_have_the_lines_they_take_in_the_file(tmp_path, end):
    path = tmp_path / "log.csv"
    path.write_bytes(end.join(["a,b", "", f'1,"x{end}y"', "2,3", ""]).encode())
    assert all_rows(path) == [(1, 1, ["a", "b"]), (3, 4, ["1", f"x{end}y"]), (5, 5, ["2", "3"])]
    assert original_lines(path, [(3, 4), (5, 5)]) == [f'1,"x{end}y"', "2,3"]


def test_lines_are_counted_across_parts(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("1,2\n\n" * 5000)
    assert [first for first, _, _ in all_rows(path)] == list(range(1, 10_001, 2))


def test_a_quotation_mark_may_be_an_ordinary_character(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('5" screen,1\n')
    assert all_rows(path, quoted=False) == [(1, 1, ['5" screen', "1"])]


def test_a_field_that_is_far_too_long_names_its_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("a,b\n" + '1,"' + "x" * 200_000 + "\n")
    with pytest.raises(DataError, match=r"log\.csv, line 2: .*Close or remove the quotation mark"):
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
