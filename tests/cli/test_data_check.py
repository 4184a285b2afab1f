import json

import pytest

ROWS = [f"2024-01-{day:02d}T00:00:00,100,80" for day in range(1, 21)]


@pytest.fixture
def stored(gaelp, here):
    (here / "bids.csv").write_text("\n".join(["time,bid_micros,price_micros,won", *(f"{row},1" for row in ROWS)]))
    assert gaelp("data", "import", "bids.csv", "--format", "columns", "--campaign", "spring").exit_code == 0


def test_stored_rows_are_described_with_their_days_and_last_check(gaelp, here, stored):
    result = gaelp("data", "describe", "--plot", "stored.png", "--json")
    [source] = json.loads(result.stdout)
    assert (source["table"], source["rows"], source["first_day"], source["last_day"], source["quality"]) == (
        "auctions",
        20,
        "2024-01-01",
        "2024-01-20",
        "not checked",
    )
    assert (here / "stored.png").read_bytes().startswith(b"\x89PNG")
    assert "20 rows" in gaelp("data", "describe").stdout


def test_a_check_passes_on_good_rows_and_is_remembered(gaelp, stored):
    result = gaelp("data", "check", "--json")
    assert result.exit_code == 0, result.stderr
    [checked] = json.loads(result.stdout)
    assert (checked["failed_expectations"], checked["checked_rows"]) == (0.0, 20.0)
    assert json.loads(gaelp("data", "describe", "--json").stdout)[0]["quality"].startswith("good")


def test_a_window_without_rows_fails_with_3_and_says_what_was_seen(gaelp, stored):
    result = gaelp("data", "check", "auctions", "--since", "2025-01-01")
    assert result.exit_code == 3
    assert "saw 0 rows, at least 1 expected" in result.stdout


def test_a_home_without_data_is_told_apart_from_good_data(gaelp, here):
    result = gaelp("data", "check")
    assert result.exit_code == 2
