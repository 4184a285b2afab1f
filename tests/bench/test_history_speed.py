import numpy as np
import pytest

from gaelp.bench import history_speed
from gaelp.bench.history_log import draw_history
from gaelp.errors import GaelpError


def test_a_small_log_has_all_figures_and_both_implementations_agree():
    speed = history_speed.measure_history(rows=20_000, rowwise_rows=2_000, replicates=20)
    assert [size.rows for size in speed.growth] == [1_920, 19_968]
    assert speed.rowwise_rows == 1_920
    assert speed.speedup_over_rowwise > 1
    assert speed.seconds > 0
    assert speed.peak_mb > 50
    assert speed.largest_difference < 1e-9


def test_implementations_that_disagree_stop_the_measurement(monkeypatch):
    monkeypatch.setattr(history_speed.rowwise, "rowwise_lift", lambda *_: 0.5)
    with pytest.raises(GaelpError, match="do not trust this"):
        history_speed.measure_history(rows=20_000, rowwise_rows=2_000, replicates=10)


def test_the_log_holds_whole_days_and_repeats():
    log, again = (draw_history(1_000, np.random.default_rng(1)) for _ in range(2))
    assert len(log.value) == 960
    assert (log.value == again.value).all()
    assert len(log.first(96).cells) == 96
    assert log.weight.mean() == pytest.approx(1, abs=0.2)
