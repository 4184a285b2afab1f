"""The published figures come out exactly, for the released log where available, else for a small log of our own."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from gaelp.errors import DataError
from gaelp.market.baselines.published import PUBLISHED, PublishedFigures, PublishedSetting, published_table

ROOT = Path(__file__).resolve().parents[3]
RELEASED = Path(os.environ.get("GAELP_TEST_IPINYOU") or ROOT.parent / "shared" / "data" / "ipinyou_2997")

EPISODE, SHARE, HIGHEST, BASE_BID = 40, 1 / 8, 30, 9


@pytest.mark.skipif(
    not RELEASED.is_dir(), reason="the released log is not available; set GAELP_TEST_IPINYOU to its folder"
)
def test_the_released_log_gives_exactly_the_published_figures() -> None:
    rows = published_table(RELEASED)
    assert [row.bidder for row in rows] == ["ss-mdp", "mcpc", "lin", "rlb"]
    assert all(row.equal for row in rows), rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Released files in small: 617 auctions whose last episode is cut short, and the history of 3,000 others."""
    rng = np.random.default_rng(7)
    counts = np.bincount(rng.integers(1, HIGHEST + 1, 3000), minlength=HIGHEST + 1)
    info = {"price_counter_train": counts.tolist(), "clk_train": 60}
    probability = rng.gamma(2.0, 0.01, 617)
    price = np.clip(rng.normal(15 + 100 * probability, 8), 0, HIGHEST).astype(int)
    click = rng.binomial(1, probability)
    lines = [f"{c} {p} {t!r}" for c, p, t in zip(click.tolist(), price.tolist(), probability.tolist(), strict=True)]
    (tmp_path / "own_test.theta.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "own_info.json").write_text(json.dumps(info), encoding="utf-8")
    (tmp_path / "lin_bid_b0.json").write_text(json.dumps({"own": {str(SHARE): {"b0": BASE_BID}}}), encoding="utf-8")
    return tmp_path


def figures_by_plain_loops(folder: Path) -> dict[str, PublishedFigures]:
    """The four bidders auction by auction, in plain Python and in the units of the file."""
    info = json.loads((folder / "own_info.json").read_text(encoding="utf-8"))
    counts, clicks = info["price_counter_train"], info["clk_train"]
    impressions, cost = sum(counts), sum(price * count for price, count in enumerate(counts))
    budget = int(cost / impressions * SHARE * EPISODE)
    average = clicks / impressions
    chances = [(count + 1) / (impressions + len(counts)) for count in counts]
    table = plain_table(chances, average, budget)
    return {
        "ss-mdp": plain_replay(folder, budget, lambda left, money, _: plain_bid(table[left - 1], money, average)),
        "mcpc": plain_replay(folder, budget, lambda _left, _money, chance: int(chance * cost / clicks)),
        "lin": plain_replay(folder, budget, lambda _left, _money, chance: int(chance * BASE_BID / average)),
        "rlb": plain_replay(folder, budget, lambda left, money, chance: plain_bid(table[left - 1], money, chance)),
    }


def plain_table(chances: list[float], average: float, budget: int) -> list[list[float]]:
    rows = [[0.0] * (budget + 1)]
    for _ in range(1, EPISODE):
        before = rows[-1]
        row = [0.0]
        for money in range(1, budget + 1):
            bid = plain_bid(before, money, average)
            gains = (chances[price] * (average + before[money - price] - before[money]) for price in range(bid + 1))
            row.append(before[money] + sum(gains))
        rows.append(row)
    return rows


def plain_bid(row: list[float], money: int, value: float) -> int:
    worth_it = [bid for bid in range(min(money, HIGHEST) + 1) if value + row[money - bid] - row[money] >= 0]
    return max(worth_it)


def plain_replay(folder: Path, budget: int, bid_for) -> PublishedFigures:
    impressions = clicks = cost = 0
    for index, line in enumerate((folder / "own_test.theta.txt").read_text(encoding="utf-8").splitlines()):
        click, price, chance = line.split()
        if index % EPISODE == 0:
            money = budget
        bid = min(bid_for(EPISODE - index % EPISODE, money, float(chance)), money)
        if bid >= int(price):
            impressions, clicks, cost = impressions + 1, clicks + int(click), cost + int(price)
            money -= int(price)
    return PublishedFigures(impressions, clicks, cost)


def test_a_log_of_our_own_gives_exactly_what_plain_loops_give(folder: Path) -> None:
    figures = figures_by_plain_loops(folder)
    rows = published_table(folder, PublishedSetting("own", EPISODE, SHARE, figures))
    assert all(row.equal for row in rows), rows
    assert len({row.impressions for row in rows}) == 4
    assert min(row.clicks for row in rows) > 0


def test_a_figure_that_differs_is_told(folder: Path) -> None:
    rows = published_table(folder, PublishedSetting("own", EPISODE, SHARE, PUBLISHED.figures))
    assert not any(row.equal for row in rows)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("own_info.json", "{", "cannot be read as JSON"),
        ("own_info.json", '{"clk_train": 5}', "'price_counter_train' is missing"),
        ("lin_bid_b0.json", '{"own": {}}', "'0.125' is missing"),
        ("lin_bid_b0.json", None, "rlb-dp by han-cai on GitHub"),
        ("own_test.theta.txt", None, "WSDM 2017"),
    ],
)
def test_a_file_that_is_missing_or_broken_is_named(folder: Path, name: str, text: str | None, message: str) -> None:
    (folder / name).unlink()
    if text is not None:
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        published_table(folder, PublishedSetting("own", EPISODE, SHARE, PUBLISHED.figures))
    assert name in str(error.value)
    assert message in str(error.value)
