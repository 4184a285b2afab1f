import re

import pytest

from gaelp.cli.comparison_table import show_comparison
from gaelp.market.baselines.compare import Comparison, Estimate, PolicyResult


def around(value, half=0.01):
    return Estimate(value=value, lower_95=value - half, upper_95=value + half)


def result(policy, reward, *, informed=False, lead=0.0, lead_half=0.01):
    return PolicyResult(
        policy=policy,
        informed=informed,
        reward=around(reward),
        headroom_share=around(0.25, 0.05),
        difference_to_best=around(lead * 0.8),
        lead_over_best=around(lead, lead_half),
        lead_over_constant=around(0.1),
        budget_used=0.987,
        reward_p10=0.512,
        success_rate=0.75,
    )


def comparison(*more, label="calibrated"):
    results = (result("constant", 0.7), result("mpc", 0.8), *more)
    return Comparison(
        market="cal",
        label=label,
        episodes=1000,
        seed=1,
        constant="constant",
        best_uninformed="mpc",
        results=results,
    )


@pytest.fixture
def shown(capsys):
    def show(given):
        show_comparison(given)
        return capsys.readouterr().out

    return show


def test_every_bidder_is_a_row_with_its_figures_and_their_errors(shown):
    text = shown(comparison(result("agent (ppo)", 0.84, lead=0.05)))
    assert text.startswith("Market cal (calibrated), 1000 held-out episodes\n")
    row = re.search(r"^agent \(ppo\) .*$", text, re.MULTILINE)[0].split(maxsplit=2)[2]
    assert row.split() == ["0.840", "±", "0.010", "0.25", "±", "0.05", "+5.0", "±", "1.0", "98.7%", "0.512"]
    assert re.search(r"^bidder\s+reward\s+headroom\s+lead %\s+spent\s+p10\s*$", text, re.MULTILINE)


def test_a_row_fits_into_eighty_columns(shown):
    text = shown(comparison(result("agent (sb3-contrib:TQC)", -0.123, lead=-0.456)))
    table = [line.rstrip() for line in text.splitlines()[1:-2]]
    assert max(len(line) for line in table) <= 80


def test_a_market_without_a_label_has_no_empty_brackets(shown):
    assert shown(comparison(label="")).startswith("Market cal, 1000 held-out episodes\n")


def test_the_last_sentence_says_what_has_to_be_beaten(shown):
    said = "The best rule, mpc, wins 80.0% of what was possible, the constant bid 70.0%: an agent has to beat the rule"
    assert shown(comparison()).rstrip().splitlines()[-1] == f"{said}, not the constant."


def test_what_knowing_more_is_worth_is_said_only_where_it_is_certain(shown):
    certain = shown(comparison(result("mpc (informed)", 0.88, informed=True, lead=0.1, lead_half=0.02)))
    assert certain.rstrip().endswith("relate to value is worth 10.0% more.")
    unsure = shown(comparison(result("mpc (informed)", 0.81, informed=True, lead=0.01, lead_half=0.02)))
    assert unsure.rstrip().endswith("not the constant.")
