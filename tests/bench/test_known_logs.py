import ast
from pathlib import Path

import numpy as np
import pytest

from gaelp.bench import known_logs
from gaelp.bench.known_logs import LogTruth, draw_columns


def test_the_generator_shares_no_code_with_market_or_calibration():
    tree = ast.parse(Path(known_logs.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith("gaelp")} == {"gaelp.arrays"}


def test_two_modes_keep_the_mean_price():
    calm = {"segments": 1, "price_log_sd": 0.0, "common_drift_sd": 0.0, "segment_drift_sd": 0.0, "noise_sd": 0.0}
    for gap in (0.0, 1.6):
        truth = LogTruth(**calm, volume_log_sd=0.0, diurnal=0.0, mode_gap=gap, within_log_sd=0.3, per_hour=400.0)
        assert draw_columns(truth, 1)["price_micros"].mean() == pytest.approx(truth.level_micros, rel=0.02)


def test_lost_bids_hide_their_price_and_a_seed_repeats_its_log():
    truth = LogTruth(segments=3, days=1, bid_log_offset=0.0)
    columns, again = draw_columns(truth, 5), draw_columns(truth, 5)
    assert all(
        np.array_equal(columns[name], again[name], equal_nan=columns[name].dtype.kind == "f") for name in columns
    )
    assert 0.3 < columns["won"].mean() < 0.9
    assert (columns["price_micros"][~columns["won"]] == -1).all()
    assert not columns["click"][~columns["won"]].any()
