import json

import pytest

ROWS = [f"2024-01-01T{hour:02d}:00:00,100,80,1,0" for hour in range(24)]
KEYWORDS = 'Keyword,Clicks,Impr.,Cost\nshoes,72,"2,126",469.41\nhats,0,12,--\nTotal: Account,72,"2,138",469.41\n'


@pytest.fixture
def log(here):
    return written(here / "bids.csv", ROWS)


def written(path, rows):
    path.write_text("\n".join(["time,bid_micros,price_micros,won,click", *rows]) + "\n", encoding="utf-8")
    return path


def test_every_row_of_an_import_is_accounted_for_and_a_second_one_stores_nothing(gaelp, log):
    command = ("data", "import", log, "--format", "columns", "--campaign", "spring")
    first = gaelp(*command)
    assert first.exit_code == 0, first.stderr
    assert "24 stored + 0 already stored + 0 rejected = 24 read" in first.stdout
    assert "0 stored + 24 already stored + 0 rejected = 24 read" in gaelp(*command).stdout


def test_rejected_rows_are_counted_by_reason_and_written_to_a_file(gaelp, here, log):
    written(log, [*ROWS, "soon,1,1,1,0", "later,1,1,1,0"])
    result = gaelp("data", "import", log, "--format", "columns", "--campaign", "s", "--dead-letters", "bad.csv")
    assert "24 stored + 0 already stored + 2 rejected = 26 read" in result.stdout
    assert "2 rows, the first at line 26: column time: allowed: ISO 8601" in result.stdout
    assert (here / "bad.csv").read_text().count("\n") == 3


def test_too_many_bad_rows_exit_with_2_and_alert(gaelp, log):
    written(log, [*ROWS[:8], "soon,1,1,1,0"])
    result = gaelp("data", "import", log, "--format", "columns", "--campaign", "s", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Nothing was stored" in result.stderr
    assert "import refused: too many bad rows in bids.csv" in result.stderr


def test_the_json_has_the_counts_and_the_reasons(gaelp, here):
    (here / "keywords.csv").write_text(KEYWORDS)
    result = gaelp(
        "data",
        "import",
        here / "keywords.csv",
        "--format",
        "google-ads",
        "--campaign",
        "s",
        "--at",
        "2024-01-31",
        "--json",
    )
    report = json.loads(result.stdout)
    assert [report[name] for name in ("read", "stored", "already_stored", "rejected")] == [3, 2, 0, 1]
    assert report["files"][0]["reasons"][0]["reason"] == "line: a line of totals, no data"


def test_a_mapping_is_proposed_then_used(gaelp, here):
    (here / "keywords.csv").write_text(KEYWORDS)
    assert gaelp("data", "import", "keywords.csv", "--write-mapping", "k.yaml").exit_code == 0
    result = gaelp("data", "import", "keywords.csv", "--mapping", "k.yaml", "--campaign", "s", "--at", "2024-01-31")
    assert "2 stored + 0 already stored + 1 rejected = 3 read" in result.stdout
    again = gaelp("data", "import", "keywords.csv", "--write-mapping", "k.yaml")
    assert "k.yaml exists" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to import"),
        (("--bigquery", "SELECT 1"), "--bigquery needs --mapping"),
        (("absent.csv",), "absent.csv does not exist"),
    ],
)
def test_a_command_that_cannot_import_says_why(gaelp, here, arguments, message):
    result = gaelp("data", "import", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
