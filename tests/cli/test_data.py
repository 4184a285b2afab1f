import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from gaelp.config.places import repository_root
from gaelp.market.build import load_market_spec


@pytest.fixture(scope="module")
def rows():
    """Two days and a half of auctions that are all won, without any effect in them."""
    rng = np.random.default_rng(5)
    at = 1_704_067_200 + rng.uniform(0, 60 * 3600, 1500)
    price, click = rng.lognormal(7, 0.6, 1500), rng.random(1500) < 0.05
    return [f"{s:.0f},1000000,{p + 1:.0f},1,{c:d}" for s, p, c in zip(at, price, click, strict=True)]


@pytest.fixture
def log(here, rows):
    return written(here / "bids.csv", rows)


def written(path, rows):
    path.write_text("\n".join(["time,bid_micros,price_micros,won,click", *rows]) + "\n", encoding="utf-8")
    return path


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_market_is_written_beside_its_report_and_said_with_whole_paths_and_how_to_use_it(gaelp, here, log):
    result = gaelp("data", "calibrate", log, "--name", "mine")
    assert result.exit_code == 0, result.stderr
    market = here / "configs" / "markets" / "mine.yaml"
    assert f"Wrote {market}" in result.stderr
    assert f"compare -m {market}" in result.stderr
    assert files(here) == ["bids.csv", "configs/markets/mine.report.json", "configs/markets/mine.yaml"]
    assert load_market_spec("mine") == load_market_spec(market)


def test_all_results_are_in_one_table_with_their_source_and_reasons_below(gaelp, log):
    result = gaelp("data", "calibrate", log, "--name", "mine")
    table, _, kept = result.stdout.partition("kept ")
    rows = {line.split()[0]: line for line in table.splitlines() if line}
    assert "log (" in rows["price.level_micros"]
    assert " .. " in rows["price.level_micros"]
    for path in ("response.price_value_correlation", "price.common_drift_sd", "price.drift_persistence"):
        assert rows[path].rstrip().endswith("base market")
        assert f"{path} at the base market's" in kept


def test_a_market_outside_of_configs_is_taken_by_its_path(gaelp, here, log):
    (here / "elsewhere").mkdir()
    made = gaelp("data", "calibrate", log, "--name", "mine", "--out", "elsewhere/mine.yaml")
    assert made.exit_code == 0, made.stderr
    path = here / "elsewhere" / "mine.yaml"
    assert load_market_spec(str(path)).name == "mine"
    checked = gaelp("config", "check", "--set", f"market.name={path}")
    assert checked.exit_code == 0, checked.stderr
    untuned = gaelp("market", "compare", "-m", path, "--episodes", 2)
    assert "gaelp market tune" in untuned.stderr  # the market was found, its bidders are still to be tuned


def test_json_names_the_market_and_both_files(gaelp, here, log):
    report = json.loads(gaelp("data", "calibrate", log, "--name", "mine", "--json").stdout)
    assert report["market"] == "mine"
    assert report["market_path"] == str(here / "configs" / "markets" / "mine.yaml")
    assert report["report_path"] == str(here / "configs" / "markets" / "mine.report.json")
    assert report["kept"][0]["reason"]
    rows = {row["statistic"]: row for row in report["results"]}
    assert rows.keys() == report["statistics"].keys() | {part["statistic"] for part in report["kept"]}
    level, drift = rows["price.level_micros"], rows["price.common_drift_sd"]
    assert (level["source"], level["reason"]) == ("log", None)
    assert level["interval_low"] < level["value"] < level["interval_high"]
    assert (drift["source"], drift["value"]) == ("base market", load_market_spec("cal").price.common_drift_sd)
    assert drift["reason"]


@pytest.mark.parametrize("name", ["mine", "cal"])
def test_a_market_that_is_there_is_replaced_only_by_force(gaelp, here, log, name):
    folder = here / "configs" / "markets"
    folder.mkdir(parents=True)
    if name == "mine":
        (folder / "mine.yaml").write_text("name: mine\n", encoding="utf-8")
    before = files(here)
    refused = gaelp("data", "calibrate", log, "--name", name)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--force" in refused.stderr
    assert "Reading" not in refused.stderr
    assert files(here) == before
    forced = gaelp("data", "calibrate", log, "--name", name, "--force")
    assert forced.exit_code == 0, forced.stderr
    assert load_market_spec(folder / f"{name}.yaml").label.startswith("calibrated on bids.csv")


def test_a_log_named_like_a_shipped_market_does_not_take_its_place(gaelp, here, rows):
    result = gaelp("data", "calibrate", written(here / "cal.csv", rows))
    assert result.exit_code == 2
    assert "a market called 'cal' exists" in result.stderr


def test_a_report_that_is_there_is_not_replaced_either(gaelp, here, log):
    (here / "mine.report.json").write_text("{}", encoding="utf-8")
    result = gaelp("data", "calibrate", log, "--out", "mine.yaml")
    assert result.exit_code == 2
    assert "mine.report.json exists" in result.stderr


@pytest.mark.parametrize("name", ["../../evil", "a: b", "x/y", "", "mine.yaml", ".hidden"])
def test_a_name_that_is_no_file_name_is_refused_before_the_log_is_read(gaelp, here, log, name):
    result = gaelp("data", "calibrate", log, "--name", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"--name: saw '{name}'; allowed:" in result.stderr.replace('"', "'")
    assert "Reading" not in result.stderr
    assert files(here) == ["bids.csv"]


def test_a_log_whose_name_is_no_market_name_asks_for_one(gaelp, here, rows):
    result = gaelp("data", "calibrate", written(here / "my bids.csv", rows))
    assert result.exit_code == 2
    assert "give another with --name" in result.stderr


@pytest.mark.parametrize(
    ("out", "said"), [("nowhere/mine.yaml", "does not exist"), ("mine.txt", "ends in .yaml"), ("bids.csv/m.yaml", "")]
)
def test_a_file_that_cannot_be_written_is_refused_before_the_log_is_read(gaelp, here, log, out, said):
    result = gaelp("data", "calibrate", log, "--out", out)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert "Reading" not in result.stderr
    assert files(here) == ["bids.csv"]


def test_one_auction_is_refused_with_what_is_needed(gaelp, here, rows):
    result = gaelp("data", "calibrate", written(here / "one.csv", rows[:1]))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "saw 1 auction in 1 hour with 1 price and" in result.stderr
    assert "needed: 200 prices" in result.stderr
    assert files(here) == ["one.csv"]


@pytest.mark.parametrize("offset", ["nan", "1e9", "-13"])
def test_an_offset_that_no_clock_has_exits_2(gaelp, log, offset):
    result = gaelp("data", "calibrate", log, "--name", "mine", "--utc-offset-hours", offset)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "allowed: -12 to 14" in result.stderr


def test_an_offset_is_not_silently_ignored_for_ipinyou(gaelp, log):
    result = gaelp("data", "calibrate", log, "--name", "mine", "--format", "ipinyou", "--utc-offset-hours", "8")
    assert result.exit_code == 2
    assert "Leave the option out" in result.stderr


def test_a_check_says_whether_held_out_prices_fit_and_writes_nothing(gaelp, here, log):
    for seed in (1, 2):
        result = gaelp("data", "calibrate", log, "--check", "--set", f"run.seed={seed}")
        assert result.exit_code == 0, result.stderr
        assert "Held-out prices fit: kl 0." in result.stdout
        assert "for chance" in result.stdout
        assert "Later prices are as the first days say" in result.stdout
        assert "Verdict: fits." in result.stdout
    report = json.loads(gaelp("data", "calibrate", log, "--check", "--json").stdout)
    assert report["price_judgement"]["fits"] is True
    assert report["price_judgement"]["kl_limit"] > 0.05
    assert report["verdict"] == "fits"
    assert report["time_split"]["price_judgement"]["fits"] is True
    assert files(here) == ["bids.csv"]


def test_a_check_notices_prices_that_change_after_the_first_days(gaelp, here, rows):
    cells = [row.split(",") for row in rows]
    cut = 1_704_067_200 + 24 * 3600
    for row in cells:
        row[2] = str(int(row[2]) * 2) if int(row[0]) >= cut else row[2]
    result = gaelp("data", "calibrate", written(here / "bids.csv", [",".join(row) for row in cells]), "--check")
    assert result.exit_code == 0, result.stderr
    assert "Later prices differ from the first days" in result.stdout
    assert "Verdict: drifts." in result.stdout


BAD = ["never,1000000,900,1,0", "1704067200,-5,900,1,0", "1704067200,cheap,900,1,0"]


def test_bad_rows_stop_the_command_with_counts_an_example_each_and_the_option(gaelp, here, rows):
    result = gaelp("data", "calibrate", written(here / "bids.csv", [*rows, *BAD, *BAD]), "--name", "mine")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "6 of 1,506 rows (0.398%) cannot be used" in result.stderr
    assert "2 rows, such as line 1502, column time: saw 'never'" in result.stderr
    assert "2 rows, such as line 1503, column bid_micros: saw '-5'" in result.stderr
    assert "2 rows, such as line 1504, column bid_micros: saw 'cheap'; not a number" in result.stderr
    assert "--skip-bad-rows FILE" in result.stderr
    assert files(here) == ["bids.csv"]


def test_bad_rows_are_set_aside_in_a_file_and_the_rest_is_used(gaelp, here, log, rows):
    plain = json.loads(gaelp("data", "calibrate", log, "--name", "plain", "--json").stdout)
    written(here / "bids.csv", [BAD[0], *rows, *BAD[1:]])
    result = gaelp("data", "calibrate", log, "--name", "mine", "--skip-bad-rows", "bad.csv", "--json")
    assert result.exit_code == 0, result.stderr
    assert "3 of 1,503 rows (0.2%) cannot be used" in result.stderr
    lines = (here / "bad.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "line,reason,text"
    assert [line.split(",")[0] for line in lines[1:]] == ["2", "1503", "1504"]
    assert lines[1].endswith(f'"{BAD[0]}"')
    report = json.loads(result.stdout)
    assert (report["bad_rows"]["path"], report["bad_rows"]["rows"]) == (str(here / "bad.csv"), 3)
    assert sum(report["bad_rows"]["by_reason"].values()) == 3
    assert report["statistics"] == plain["statistics"]
    assert "bad rows were set aside: 3 of 1,503" in report["notes"]


def test_a_log_without_bad_rows_leaves_no_file_of_them(gaelp, here, log):
    result = gaelp("data", "calibrate", log, "--check", "--skip-bad-rows", "bad.csv", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["bad_rows"] == {"path": None, "rows": 0, "by_reason": {}}
    assert files(here) == ["bids.csv"]


def test_a_check_sets_bad_rows_aside_too(gaelp, here, rows):
    written(here / "bids.csv", [*rows, *BAD])
    result = gaelp("data", "calibrate", "bids.csv", "--check", "--skip-bad-rows", "bad.csv")
    assert result.exit_code == 0, result.stderr
    assert files(here) == ["bad.csv", "bids.csv"]


def test_more_bad_rows_than_a_tenth_fail_with_the_share(gaelp, here, rows):
    written(here / "bids.csv", [*rows, *BAD * 100])
    result = gaelp("data", "calibrate", "bids.csv", "--name", "mine", "--skip-bad-rows", "bad.csv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "16.7% of the rows are bad, and at most 10% may be set aside" in result.stderr
    assert files(here) == ["bids.csv"]


@pytest.mark.parametrize("target", ["bids.csv", "mine.yaml", "mine.report.json"])
def test_bad_rows_do_not_overwrite_the_log_or_the_market(gaelp, here, log, target):
    before = log.read_bytes()
    result = gaelp("data", "calibrate", log, "--out", "mine.yaml", "--skip-bad-rows", target, "--force")
    assert result.exit_code == 2
    assert "Name another file" in result.stderr
    assert "Reading" not in result.stderr
    assert log.read_bytes() == before


def test_a_file_of_bad_rows_in_a_missing_folder_is_refused_before_the_log_is_read(gaelp, here, rows):
    written(here / "bids.csv", [*rows, *BAD])
    for options in (("--check",), ("--name", "mine")):
        result = gaelp("data", "calibrate", "bids.csv", *options, "--skip-bad-rows", "nodir/bad.csv")
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"--skip-bad-rows: the folder {here / 'nodir'} does not exist" in result.stderr
        assert "Reading" not in result.stderr
        assert not (here / "nodir").exists()


def test_a_file_of_bad_rows_that_exists_is_replaced_only_by_force(gaelp, here, log):
    (here / "bad.csv").write_text("mine", encoding="utf-8")
    result = gaelp("data", "calibrate", log, "--check", "--skip-bad-rows", "bad.csv")
    assert result.exit_code == 2
    assert "--force" in result.stderr


def test_a_log_that_does_not_exist_is_reported_with_its_whole_path(gaelp, here):
    result = gaelp("data", "calibrate", "bids.csv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{here / 'bids.csv'} does not exist" in result.stderr


def test_an_interruption_leaves_nothing_behind(here, rows):
    written(here / "bids.csv", rows * 40)
    process = subprocess.Popen(
        [sys.executable, "-m", "gaelp.cli", "data", "calibrate", "bids.csv", "--name", "mine"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(repository_root())},
    )
    assert "Reading" in process.stderr.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode not in {0, 2}
    assert files(here) == ["bids.csv"]


@pytest.mark.parametrize("kind", ["thousands of thin segments", "one moment"])
def test_a_log_that_says_little_of_prices_keeps_them_and_says_why(gaelp, here, kind):
    rng = np.random.default_rng(7)
    head = "time,bid_micros,price_micros,won,segment,click,conversion"
    lines = []
    for i in range(6000):
        bid, price, clicked = rng.integers(500, 4000), rng.integers(500, 3000), rng.random() < 0.03
        won = bid >= price
        at, segment = (1_700_000_000, f"s{i % 5}") if kind == "one moment" else (1_700_000_000 + 72 * i, f"u{i % 3000}")
        buys = won and clicked and rng.random() < 0.4
        lines.append(f"{at},{bid},{price if won else ''},{won:d},{segment},{won and clicked:d},{buys:d}")
    (here / "odd.csv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    result = gaelp("data", "calibrate", here / "odd.csv", "--name", "odd")
    assert result.exit_code == 0, result.stderr
    assert "kept" in result.stdout


def test_a_log_that_is_probably_wrong_is_doubted_before_its_results(gaelp, here, rows):
    doubled = gaelp("data", "calibrate", written(here / "twice.csv", rows + rows), "--name", "twice", "--json")
    assert "Warning" not in doubled.stdout
    assert json.loads(doubled.stdout)["warnings"][0].startswith("1,500 of 3,000 rows (50%) repeat")
    checked = gaelp("data", "calibrate", here / "twice.csv", "--check")
    assert "Warning: 1,500 of 3,000 rows" in checked.stderr


def test_a_won_auction_without_a_price_is_explained(gaelp, here, rows):
    time_, bid, _, won, click = rows[0].split(",")
    log = written(here / "bids.csv", [f"{time_},{bid},,{won},{click}", *rows])
    result = gaelp("data", "calibrate", log)
    assert result.exit_code == 2
    assert "An auction that was won needs its price" in result.stderr


def test_the_reason_that_a_first_price_log_has_is_said_once(gaelp, here, rows):
    paid = [f"{row.split(',')[0]},{p},{p},1,{row[-1]}" for p, row in enumerate(rows, 1000)]
    result = gaelp("data", "calibrate", written(here / "bids.csv", paid), "--name", "mine")
    assert result.exit_code == 0, result.stderr
    assert " ".join(result.stdout.split()).count("won prices equal the bids") == 1
    assert "price.level_micros at the base market's 2000" in " ".join(result.stdout.split())
