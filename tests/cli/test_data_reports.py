"""`gaelp data calibrate --from reports`, on reports of a known truth in the store."""

import json
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gaelp.bench.known_reports import ReportTruth, draw_reports
from gaelp.market.build import load_market_spec
from gaelp.storage.duckdb_store import DuckDbStore
from gaelp.storage.schema import TableName
from gaelp.storage.seals import Seal, SealBook


@pytest.fixture(scope="module")
def reports():
    return draw_reports(ReportTruth(campaigns=2, groups=3, days=21), seed=2)


@pytest.fixture
def stored(here, reports):
    store = DuckDbStore(here / ".gaelp" / "episodes")
    store.append(reports.tables)
    store.close()


def test_a_market_is_written_with_its_report_and_the_win_rates_are_printed(gaelp, here, stored):
    result = gaelp("data", "calibrate", "--from", "reports", "--name", "mine")
    assert result.exit_code == 0, result.output
    spec = load_market_spec(here / "configs" / "markets" / "mine.yaml")
    assert spec.label.startswith("calibrated on the store:")
    assert "win rate by bid" in result.stdout
    assert "campaign-01/group-02" in result.stdout
    report = json.loads((here / "configs" / "markets" / "mine.report.json").read_text())
    assert len(report["curves"]) == 6


def test_points_alone_make_a_market_too(gaelp, stored):
    made = gaelp("data", "calibrate", "--from", "points", "--name", "mine", "--source", "known", "--json")
    assert json.loads(made.stdout)["statistics"]["volume.per_hour"]["value"] == pytest.approx(8.0, rel=0.6)


def test_check_holds_out_the_last_third_of_the_days(gaelp, stored):
    check = json.loads(gaelp("data", "calibrate", "--from", "reports", "--check", "--json").stdout)
    assert (check["fitted_days"], check["later_days"]) == (14, 7)
    # No conversion had been reported when the held-out days began, so none is predicted.
    assert {error["figure"] for error in check["errors"]} == {"clicks", "spend"}
    table = gaelp("data", "calibrate", "--from", "reports", "--check").stdout
    assert "by chance alone" in table


@pytest.fixture
def sealed(here, stored, reports):
    """The last week is sealed, and has a planted campaign that would show up in every report."""
    name = TableName.HOUR_REPORTS
    hours = reports.tables[name]
    cut = pc.min(hours["at"]).as_py() + timedelta(days=14)
    late = hours.filter(pc.greater_equal(hours["at"], pa.scalar(cut, hours["at"].type))).to_pylist()
    planted = [{**row, "id": f"planted {n}", "campaign": "planted-marker"} for n, row in enumerate(late)]
    store = DuckDbStore(here / ".gaelp" / "episodes")
    store.append({name: pa.Table.from_pylist(planted, schema=hours.schema)})
    store.close()
    bounds = {"withheld_from": cut, "withheld_day": cut.date(), "since": cut, "until": cut + timedelta(days=7)}
    about = {"history": "*", "number": 1, "fingerprint": "f", "sources": (), "campaigns": (), "splits": "{}"}
    SealBook(here / ".gaelp" / "seals.db").add(
        Seal(**about, **bounds, held_out_share=0.0, held_out_key="k", sealed_at=cut)
    )
    return 2 * len(late)


def test_calibration_reads_no_row_of_a_sealed_window_and_says_how_many_were_withheld(gaelp, here, sealed):
    result = gaelp("data", "calibrate", "--from", "reports", "--name", "mine")
    assert result.exit_code == 0, result.output
    assert f"{sealed:,} of hour_reports" in result.output
    assert "sealed window" in result.output
    written = [path.read_text() for path in (here / "configs" / "markets").glob("mine*")]
    assert "planted-marker" not in result.output + "".join(written)
    check = json.loads(gaelp("data", "calibrate", "--from", "reports", "--check", "--json").stdout)
    assert check["fitted_days"] + check["later_days"] == 14


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "reports", "--source", "nobody"], "no row of hour_reports from nobody; allowed: at least one"),
        (["bids.csv", "--from", "reports"], "reports are read from the store"),
        ([], "a log of auctions is needed"),
        (["bids.csv", "--source", "known"], "no --source"),
    ],
)
def test_wrong_options_say_what_is_allowed(gaelp, stored, options, message):
    result = gaelp("data", "calibrate", *options)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
