from gaelp.market.baselines.compare import Comparison, Estimate, PolicyResult
from gaelp.market.baselines.comparison_text import COMPARISON_COLUMNS, comparison_rows, comparison_title


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
