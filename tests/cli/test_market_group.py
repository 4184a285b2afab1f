import json
import re

import numpy as np
import pytest

from gaelp.config.places import repository_root
from gaelp.market.baselines.catalog import CATALOG

SMALL = "name: small\ndays: 1\nsegments: 2\n"


def test_the_list_tells_which_markets_are_tuned(gaelp):
    listed = json.loads(gaelp("market", "list", "--json").stdout)["markets"]
    tuned = {entry["market"]: entry["tuned"] for entry in listed}
    assert {"calm", "cal", "cal-first", "signals", "full"} <= tuned.keys()
    assert tuned["cal"] is True
    assert "calibrated" in gaelp("market", "list").stdout


def test_a_comparison_has_every_bidder_and_only_json_on_stdout(gaelp):
    result = gaelp("market", "compare", "--market", "calm", "--episodes", 3, "--json")
    assert result.exit_code == 0
    [comparison] = json.loads(result.stdout)["comparisons"]
    assert (comparison["market"], comparison["episodes"]) == ("calm", 3)
    assert {entry["policy"] for entry in comparison["results"]} == {kind.build().name for kind in CATALOG}


def test_a_comparison_ends_with_what_it_means(gaelp):
    result = gaelp("market", "compare", "--config", "quick-test", "--episodes", 2)
    assert result.exit_code == 0
    assert "Market cal (calibrated), 2 held-out episodes" in result.stdout
    assert re.search(r"mpc \(informed\)\s+0\.\d{3} ± ", result.stdout)
    assert result.stdout.strip().splitlines()[-1].startswith("The best rule, ")


def test_bidders_tuned_on_another_version_of_the_market_are_refused(here, gaelp):
    shipped = (repository_root() / "configs" / "markets" / "calm.yaml").read_text(encoding="utf-8")
    (here / "changed.yaml").write_text(shipped.replace("per_hour: 80", "per_hour: 81"), encoding="utf-8")
    result = gaelp("market", "compare", "--market", "changed.yaml", "--episodes", 2)
    assert result.exit_code == 2
    assert "gaelp market tune calm" in result.stderr


def test_a_market_that_does_not_exist_is_named(gaelp):
    result = gaelp("market", "compare", "--market", "clam")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'clam' not found" in result.stderr


def test_a_market_is_tuned_then_compared(here, gaelp):
    (here / "small.yaml").write_text(SMALL, encoding="utf-8")
    tuned = gaelp("market", "tune", "small.yaml", "--trials", 1, "--json")
    assert tuned.exit_code == 0, tuned.stderr
    assert json.loads(tuned.stdout)["bidders"].keys() == {kind.key for kind in CATALOG}
    assert (here / "configs" / "baselines" / "small.yaml").is_file()
    compared = gaelp("market", "compare", "--market", "small.yaml", "--episodes", 2, "--json")
    assert compared.exit_code == 0, compared.stderr


@pytest.fixture
def released(here):
    """Files named like the released ones, with other auctions inside."""
    rng = np.random.default_rng(7)
    lines = [f"{int(rng.random() < 0.02)} {rng.integers(1, 30)} {rng.random() * 0.05}" for _ in range(1500)]
    (here / "2997_test.theta.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    counts = np.bincount(rng.integers(1, 31, 3000), minlength=31).tolist()
    (here / "2997_info.json").write_text(json.dumps({"price_counter_train": counts, "clk_train": 60}), encoding="utf-8")
    (here / "lin_bid_b0.json").write_text(json.dumps({"2997": {str(1 / 32): {"b0": 9}}}), encoding="utf-8")
    return here


def test_a_replay_that_differs_from_what_was_published_says_so_and_exits_1(gaelp, released):
    shown = gaelp("market", "replay", "--published", released)
    assert shown.exit_code == 1
    assert re.search(r"ss-mdp\s+\d+\s+80\s.*306,637\s+no", shown.stdout)
    told = json.loads(gaelp("market", "replay", "--published", released, "--json").stdout)
    assert told["equal"] is False
    assert [row["bidder"] for row in told["rows"]] == ["ss-mdp", "mcpc", "lin", "rlb"]


def test_a_folder_without_the_released_files_exits_2(gaelp, here):
    result = gaelp("market", "replay", "--published", here)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "2997_test.theta.txt" in result.stderr
