"""A training report as values for JSON and for curves."""

import json
import math
from pathlib import Path

from gaelp.phases.report_values import as_json_values, curve_figures
from gaelp.training.reports import RoundDone, Saved, TrainingStopped

ROUND = RoundDone(
    round=3,
    rounds=4,
    task="calm",
    steps=100,
    steps_per_second=50.0,
    reward=math.nan,
    metrics={"loss": 0.5, "kl": math.inf},
    skipped={"loss": 1},
    clipped_rewards=0,
)


def test_what_json_has_no_number_for_is_null_and_a_path_is_its_name():
    values = as_json_values(ROUND)
    assert (values["reward"], values["metrics"]) == (None, {"loss": 0.5, "kl": None})
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert as_json_values(Saved(round=3, path=Path("/far/away/3.safetensors")))["path"] == "3.safetensors"


def test_a_round_has_curves_of_its_own_figures_and_of_its_updates():
    figures = curve_figures(ROUND)
    assert figures["training/loss"] == 0.5
    assert figures["training/steps"] == 100
    assert curve_figures(Saved(round=3, path=Path("x"))) == {}
    assert curve_figures(TrainingStopped("finished", "done", 4, None, None, 1.0)) == {}
