from gaelp.config.objective import Objective
from gaelp.market.baselines.compare import CampaignMoney, Comparison, Estimate, PolicyResult
from gaelp.market.baselines.comparison_text import (
    ALL_COLUMNS,
    COMPARISON_COLUMNS,
    MONEY_COLUMNS,
    all_rows,
    comparison_rows,
    comparison_title,
    money_cells,
    money_rows,
)


def exactly(value):
    return Estimate(value=value, lower_95=value, upper_95=value)


def test_a_figure_that_rounds_to_zero_has_no_minus():
    result = PolicyResult(
        policy="constant",
        informed=False,
        reward=exactly(0.5),
        headroom_share=exactly(-7.05305e-19),
        difference_to_best=exactly(0.0),
        lead_over_best=exactly(-1e-9),
        lead_over_constant=exactly(0.0),
        budget_used=1.0,
        reward_p10=0.25,
        success_rate=1.0,
    )
    comparison = Comparison(
        market="cal", label="", episodes=2, seed=1, constant="constant", best_uninformed="constant", results=(result,)
    )
    [row] = comparison_rows(comparison)
    assert row == ("constant", "0.500 ± 0.000", "0.00 ± 0.00", "+0.0 ± 0.0", "100.0%", "0.250")
    assert len(row) == len(COMPARISON_COLUMNS)
    assert comparison_title(comparison) == "Market cal, 2 held-out episodes"
    assert money_rows(comparison) == ()  # a result from before money was reported
    profit = comparison.model_copy(update={"objective": Objective(kind="profit")})
    assert comparison_title(profit) == "Market cal, objective profit, 2 held-out episodes"
    paid = comparison.model_copy(update={"results": (result.model_copy(update={"money": SPENT}),)})
    assert money_rows(paid) == (("constant", "1,200.50", "80.0%", "3,001.25", "2.50", "12.01", "1,800.75"),)
    assert len(money_rows(paid)[0]) == len(MONEY_COLUMNS)
    assert all_rows(comparison) == (("cal", "value", "constant", "0.500 ± 0.000", "100.0%", "-"),)
    assert all_rows(paid)[0][-1] == "+150%"
    assert len(all_rows(paid)[0]) == len(ALL_COLUMNS)


SPENT = CampaignMoney(
    spend_micros=1_200_500_000,
    spend_share=0.8,
    value_micros=3_001_250_000,
    profit_micros=1_800_750_000,
    roas=2.5,
    cpa_micros=12_005_000,
)


def test_a_bidder_that_bought_nothing_has_neither_roas_nor_cpa():
    nothing = CampaignMoney(spend_micros=0, spend_share=0, value_micros=0, profit_micros=0, roas=None, cpa_micros=None)
    assert money_cells(nothing) == ("0.00", "0.0%", "0.00", "-", "-", "0.00")
    assert money_cells(SPENT)[1:5:2] == ("80.0%", "2.50")
