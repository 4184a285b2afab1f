import numpy as np
import pytest

from gaelp.market.calibration.chance import KL_BAR, KS_BAR, judge_price
from gaelp.market.calibration.goodness import PriceComparison


def comparison(kl, ks):
    return PriceComparison(ks=ks, mean_log_likelihood=-3.0, kl=kl, bins=64, observations=1000)


def judgement(log, kl=0.0, ks=0.0):
    return judge_price(comparison(kl, ks), log, log.rows // 2, np.random.default_rng(1))


def test_the_allowance_shrinks_as_the_log_grows(flat_log):
    small, large = (judgement(flat_log(1, rows=rows)) for rows in (1000, 60_000))
    assert small.kl_by_chance > 10 * large.kl_by_chance
    assert small.ks_by_chance > 5 * large.ks_by_chance
    assert large.kl_by_chance < 0.01


def test_the_bars_of_a_large_log_stay(won_log):
    judged = judgement(won_log)
    assert KL_BAR < judged.kl_limit < KL_BAR + 0.003
    assert KS_BAR < judged.ks_limit < KS_BAR + 0.015


@pytest.mark.parametrize(("kl", "ks", "fits"), [(0.0, 0.0, True), (0.3, 0.0, False), (0.0, 0.3, False)])
def test_either_figure_beyond_its_limit_is_a_misfit(flat_log, kl, ks, fits):
    assert judgement(flat_log(2), kl, ks).fits == fits
