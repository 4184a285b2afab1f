import contextlib
import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios

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


def test_the_list_explains_every_bidder(gaelp):
    explained = json.loads(gaelp("market", "list", "--json").stdout)["bidders"]
    assert explained.keys() == {kind.key for kind in CATALOG}
    assert re.search(r"^mpc +model predictive control", gaelp("market", "list").stdout, re.MULTILINE)


def test_a_comparison_has_every_bidder_and_only_json_on_stdout(gaelp):
    result = gaelp("market", "compare", "--market", "calm", "--episodes", 3, "--json")
    assert result.exit_code == 0
    [comparison] = json.loads(result.stdout)["comparisons"]
    assert (comparison["market"], comparison["episodes"]) == ("calm", 3)
    assert {entry["policy"] for entry in comparison["results"]} == {kind.build().name for kind in CATALOG}


def test_a_comparison_ends_with_what_it_means(gaelp):
    result = gaelp("market", "compare", "--market", "cal", "--episodes", 2)
    assert result.exit_code == 0
    assert "Market cal (calibrated), 2 held-out episodes" in result.stdout
    assert re.search(r"mpc \(informed\)\s+0\.\d{3} ± ", result.stdout)
    assert result.stdout.strip().splitlines()[-1].startswith("The best rule, ")


@pytest.fixture
def copied(here):
    """A market file that says `name: calm` and is another market."""
    shipped = (repository_root() / "configs" / "markets" / "calm.yaml").read_text(encoding="utf-8")
    (here / "my copy.yaml").write_text(shipped.replace("per_hour: 80", "per_hour: 81"), encoding="utf-8")
    return "my copy.yaml"


def advised(stderr):
    """The arguments of the first command in backticks, as a shell would split them."""
    words = shlex.split(re.search(r"`(gaelp [^`]*)`", stderr)[1])
    assert words[0] == "gaelp"
    return words[1:]


def test_bidders_tuned_for_another_market_are_refused_and_the_advice_works_when_pasted(gaelp, copied):
    asked = ("--market", copied, "--set", "run.seed=3", "--episodes", 2)
    result = gaelp("market", "compare", *asked)
    assert result.exit_code == 2
    command = advised(result.stderr)
    assert command[:5] == ["market", "tune", copied, "--set", "run.seed=3"]
    tuned = gaelp(*command, "--trials", 1, "--json")
    assert tuned.exit_code == 0, tuned.stderr
    assert json.loads(tuned.stdout)["seed"] == 3
    again = gaelp("market", "compare", *asked, "--tuned", "tuned-calm.yaml")
    assert again.exit_code == 0, again.stderr


def test_a_market_that_was_never_tuned_is_told_how_as_it_was_typed(here, gaelp):
    (here / "own.yaml").write_text(SMALL, encoding="utf-8")
    result = gaelp("market", "compare", "--market", "own.yaml")
    assert result.exit_code == 2
    assert advised(result.stderr) == ["market", "tune", "own.yaml"]


def test_a_market_with_a_shipped_name_does_not_replace_or_hide_what_is_shipped(here, gaelp, copied):
    result = gaelp("market", "tune", copied, "--trials", 1)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--force" in result.stderr
    assert [path.name for path in here.iterdir()] == [copied]


@pytest.mark.parametrize("out", [".", "small.yaml", "small.yaml/tuned.yaml", "tuned.txt"])
def test_a_place_that_cannot_take_the_result_is_refused_before_the_search(here, gaelp, monkeypatch, out):
    (here / "small.yaml").write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr("gaelp.market.baselines.tune.tune", lambda *_, **__: pytest.fail("searched"))
    result = gaelp("market", "tune", "small.yaml", "--out", out)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "defect" not in result.stderr
    assert (here / "small.yaml").read_text(encoding="utf-8") == SMALL


def test_an_objective_without_tuned_bidders_is_told_how_and_a_wrong_one_what_is_allowed(gaelp):
    never = gaelp("market", "compare", "--market", "calm", "--objective", "target_roas=7")
    assert never.exit_code == 2
    assert "gaelp market tune calm --objective target_roas=7" in never.stderr.replace("\n", " ")
    wrong = gaelp("market", "compare", "--objective", "reach")
    assert wrong.exit_code == 2
    assert "allowed: value, profit" in wrong.stderr


@pytest.mark.slow
def test_all_compares_every_objective_that_bidders_were_tuned_for_and_ends_with_one_table(gaelp):
    result = gaelp("market", "compare", "--all", "--episodes", 2)
    assert result.exit_code == 0, result.stderr
    _, table = result.stdout.split("All markets and objectives\n")
    pairs = {tuple(line.split()[:2]) for line in table.splitlines()[2:] if line}
    assert pairs == {(name, "value") for name in ("calm", "cal", "cal-first", "signals", "search", "display")} | {
        ("cal", "profit"), ("cal", "roas-4"), ("search", "profit"), ("display", "profit")
    }  # fmt: skip
    assert len([line for line in table.splitlines() if line.startswith("search  ")]) == 2 * len(CATALOG)


def test_one_file_of_tuned_bidders_is_for_one_market(gaelp):
    result = gaelp("market", "compare", "--all", "--tuned", "tuned.yaml")
    assert result.exit_code == 2
    assert "6 markets seen, 1 allowed" in result.stderr


def test_more_episodes_than_memory_holds_exit_2(gaelp):
    result = gaelp("market", "compare", "--market", "calm", "--episodes", 100_000_000_000)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "1000000 or fewer allowed" in result.stderr


def test_the_list_survives_wrong_files_and_claims_no_tuned_bidders_that_cannot_be_used(here, gaelp, copied):
    for folder in ("markets", "baselines"):
        (here / "configs" / folder).mkdir(parents=True)
    (here / "configs" / "markets" / "wrong.yaml").write_text("days: many\n", encoding="utf-8")
    (here / "configs" / "markets" / "empty.yaml").write_text(SMALL.replace("small", "empty"), encoding="utf-8")
    (here / "configs" / "baselines" / "empty.yaml").touch()
    (here / copied).rename(here / "configs" / "markets" / "copy.yaml")
    result = gaelp("market", "list", "--json")
    assert result.exit_code == 0
    entries = {entry["market"]: entry for entry in json.loads(result.stdout)["markets"]}
    assert {name for name, entry in entries.items() if entry["problem"]} == {"wrong", "empty", "copy"}
    assert not any(entries[name]["tuned"] for name in ("wrong", "empty", "copy"))
    assert (entries["calm"]["tuned"], entries["calm"]["problem"]) == (True, None)
    table = gaelp("market", "list")
    assert table.exit_code == 0
    assert re.search(r"\nwrong: .*configs/markets/wrong\.yaml:1", table.stdout, re.DOTALL)


def test_a_comparison_is_not_folded_in_a_terminal_of_80_columns(here):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    command = [sys.executable, "-m", "gaelp.cli", "market", "compare", "-m", "calm", "--episodes", "3"]
    env = {**os.environ, "PYTHONPATH": str(repository_root())}
    running = subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=env)
    os.close(theirs)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", all_of(ours)).splitlines()
    assert running.wait() == 0
    assert any(line.split() == ["bidder", "reward", "headroom", "lead", "%", "spent", "p10"] for line in lines)
    rows = [line for line in lines if re.match(r"[a-z].* ± .* ± .* ± ", line)]
    assert len(rows) == len(CATALOG)
    assert max(map(len, rows)) <= 80
    assert not any("…" in row for row in rows)


def all_of(descriptor):
    """What is written to a terminal until its other end is closed."""
    parts = []
    with contextlib.suppress(OSError):  # how the last reader learns that nobody writes any more
        while part := os.read(descriptor, 65536):
            parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode()


def test_a_market_that_does_not_exist_is_named(gaelp):
    result = gaelp("market", "compare", "--market", "clam")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'clam' not found" in result.stderr


def test_a_market_is_tuned_then_compared(here, gaelp):
    (here / "small.yaml").write_text(SMALL, encoding="utf-8")
    tuned = gaelp("market", "tune", "small.yaml", "--trials", 1, "--json")
    assert tuned.exit_code == 0, tuned.stderr
    printed = json.loads(tuned.stdout)
    assert printed["bidders"].keys() == {kind.key for kind in CATALOG}
    assert printed["path"] == str(here / "configs" / "baselines" / "small.yaml")
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
    assert "ss-mdp: dynamic programming" in shown.stdout
    printed = json.loads(gaelp("market", "replay", "--published", released, "--json").stdout)
    assert printed["equal"] is False
    assert [row["bidder"] for row in printed["rows"]] == ["ss-mdp", "mcpc", "lin", "rlb"]


def test_a_folder_without_the_released_files_exits_2(gaelp, here):
    result = gaelp("market", "replay", "--published", here)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "2997_test.theta.txt" in result.stderr
    assert "rlb-dp" in result.stderr


def test_the_realism_of_a_market_is_a_table_with_sources(gaelp):
    shown = gaelp("market", "realism", "cal", "--campaigns", 50)
    assert shown.exit_code == 0
    assert re.search(r"click rate, median campaign +0\.01\d? +0\.0003 to 0\.0044 +0\.015 to 0\.11 +none", shown.stdout)
    assert "click_rate, search: Google Ads reports" in shown.stdout
    written = json.loads(gaelp("market", "realism", "cal", "--campaigns", 50, "--json").stdout)
    assert written["market"] == "cal"
    statistics = {entry["statistic"]: entry for entry in written["statistics"]}
    assert statistics["launch_hour_share"]["value"] == 1
    assert statistics["launch_hour_share"]["public"]["display"]["fits"] is False
