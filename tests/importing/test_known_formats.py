from datetime import UTC, date, datetime

import pytest

from gaelp.importing.known_formats import IPINYOU_NAMES, known_columns, report_mapping
from gaelp.storage.schema import TableName

KEYWORDS = """Keyword\tConversions\tCost / conv.\tFinal URL\tClicks\tImpr.\tCTR\tAvg. CPC\tCost\tConv. rate
管理 クラウド\t1.0\t46941\t\t72\t2,126\t3.39%\t652\t46941\t1.39%
 +net worker\t0.0\t0\t\t0\t12\t0.00%\t0\t0\t--
"""
PLANNER = """Keyword,Traffic Diff,Search Amount,Rank,Clicks,CPC,Competitor Score
cloud,80,14800,1,6489,2.52,13
5£,53,2740000,3,338443,0.24,-
"""
HOURS = """Hourly report
"January 1, 2024 - January 31, 2024"
Campaign,Ad group,Day,Hour of day,Customer ID,Currency code,Cost,Impr.,Clicks,Conversions,Search impr. share
Spring,Shoes,2024-01-05,13,123-456-7890,EUR,"1,012.50","10,240",31,2.50,< 10%
Spring,Hats,2024-01-05,14,123-456-7890,EUR,--,0,0,0.00,45.5%
Total: Account,,,,,,"1,012.50","10,240",31,2.50,--
"""
GERMAN = (
    "Campaign;Day;Cost;Clicks;Impressions\nFrühling;05.01.2024;1.012,50 €;31;10.240\nHerbst;06.01.2024;0,75 €;1;9\n"
)
META = """Campaign name,Day,Time of day (ad account time zone),Amount spent (USD),Impressions,Link clicks,Purchases
,,,12.00,300,4,1
Spring,2024-01-05,07:00:00 - 07:59:59,12.00,300,4,1
"""


def test_a_keyword_report_becomes_totals_of_keywords(importer):
    report = importer.run(importer.write(KEYWORDS), file_format="google-ads")
    first, second = importer.rows(TableName.KEYWORD_TOTALS)
    assert (report.total("read"), report.total("stored")) == (2, 2)
    assert (first["keyword"], first["impressions"], first["clicks"]) == ("管理 クラウド", 2126, 72)
    assert (first["spend_micros"], first["average_cpc_micros"]) == (46_941_000_000, 652_000_000)
    assert first["conversions"] == 1.0
    assert first["at"] == datetime(2024, 1, 31, tzinfo=UTC)
    assert second["keyword"] == "+net worker"


def test_a_keyword_planner_export_has_the_same_table(importer):
    importer.run(importer.write(PLANNER), file_format="google-ads")
    first, second = importer.rows(TableName.KEYWORD_TOTALS)
    assert (first["searches"], first["rank"], first["average_cpc_micros"], first["competition"]) == (
        14800,
        1.0,
        2_520_000,
        13.0,
    )
    assert second["competition"] is None
    assert first["impressions"] is None


def test_an_hourly_report_is_read_below_its_title_without_its_totals(importer):
    report = importer.run(
        importer.write(HOURS), file_format="google-ads", account=None, zone_name="Europe/Berlin", at=None
    )
    first, second = importer.rows(TableName.HOUR_REPORTS)
    assert [(each.reason, each.is_expected) for each in report.files[0].reasons] == [
        ("line: a line of totals, no data", True)
    ]
    assert (report.total("read"), report.total("stored"), report.total("rejected")) == (3, 2, 1)
    assert (first["at"], first["account_day"]) == (datetime(2024, 1, 5, 12, tzinfo=UTC), date(2024, 1, 5))
    assert (first["spend_micros"], first["impressions"], first["impression_share"]) == (1_012_500_000, 10_240, None)
    assert (second["spend_micros"], second["impression_share"]) == (None, pytest.approx(0.455))
    assert (first["account"], first["campaign"], first["segment"]) == ("123-456-7890", "Spring", "Shoes")


def test_a_decimal_comma_and_semicolons_are_found(importer):
    path = importer.write(GERMAN)
    mapping = report_mapping(["Campaign", "Day", "Cost", "Clicks", "Impressions"], ["1.012,50 €", "0,75 €"])
    columns = {**mapping.columns, "at": mapping.columns["at"].model_copy(update={"time_format": "%d.%m.%Y"})}
    importer.run(path, file_format="mapped", mapping=mapping.model_copy(update={"columns": columns}))
    rows = importer.rows(TableName.DAY_REPORTS)
    assert [row["spend_micros"] for row in rows] == [1_012_500_000, 750_000]
    assert rows[0]["impressions"] == 10_240


@pytest.mark.parametrize(
    ("header", "sample", "table"),
    [
        (["Day", "Clicks"], ["2024-01-05", "3"], TableName.DAY_REPORTS),
        (["Reporting starts", "Reporting ends", "Amount spent (EUR)"], ["2024-01-05", "2.50"], TableName.DAY_REPORTS),
        (["Day", "Hour of day", "Clicks"], ["2024-01-05", "13", "3"], TableName.HOUR_REPORTS),
        (["Date", "Clicks"], ["2024-01-05 13:00", "3"], TableName.HOUR_REPORTS),
        (["Time", "Clicks"], ["2024-01-05T13:00:00Z", "3"], TableName.HOUR_REPORTS),
        (["Timestamp", "Clicks"], ["1704459600", "3"], TableName.HOUR_REPORTS),
    ],
)
def test_a_report_without_a_time_of_day_is_one_of_days(header, sample, table):
    assert report_mapping(header, sample).table is table


def test_a_meta_report_is_read_without_its_summary_line(importer):
    report = importer.run(importer.write(META), file_format="meta")
    [row] = importer.rows(TableName.HOUR_REPORTS)
    assert report.total("rejected") == 1
    assert (row["at"].hour, row["spend_micros"], row["clicks"], row["conversions"]) == (7, 12_000_000, 4, 1.0)


def test_ipinyou_is_stored_in_utc_with_prices_an_impression_and_without_its_users(importer):
    values = dict.fromkeys(IPINYOU_NAMES, "null") | {"timestamp": "20131022135101295", "adexchange": "2", "click": "1"}
    values |= {"bidprice": "277", "payprice": "205", "slotprice": "13", "ipinyouid": "DAILV_Dhx", "ip": "113.76.1.*"}
    importer.run(importer.write("\t".join(values.values()) + "\n"), file_format="ipinyou")
    [row] = importer.rows(TableName.AUCTIONS)
    assert row["at"] == datetime(2013, 10, 22, 5, 51, 1, 295000, tzinfo=UTC)
    assert (row["bid_micros"], row["price_micros"], row["floor_micros"]) == (2770, 2050, 130)
    assert row["clicked"]
    assert "DAILV" not in str(row)


def test_a_header_without_known_names_has_no_mapping():
    assert report_mapping(["colour", "size"], []) is None
    assert known_columns(["Amount spent (EUR)", "Impr.", "colour"]) == 2
