"""`gaelp bench train` prints one JSON object with the keys that other tools rely on."""

import json

import pytest

from gaelp.bench import training_speed

QUICK = ("bench", "train", "--quick", "--cap-seconds", 0.2)


@pytest.mark.slow  # learning with both takes half a minute; the figures without the peer are tested below
def test_training_is_measured_beside_stable_baselines3_with_only_json_on_stdout(gaelp):
    pytest.importorskip("stable_baselines3")
    result = gaelp(*QUICK, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["frames_ratio_to_sb3"] == pytest.approx(found["frames"]["ours_per_s"] / found["frames"]["peer_per_s"])
    assert 0 < found["fraction_of_matmul_limit"] < 1
    assert found["time_to_target_ratio"] is None
    assert (found["ours_reached"], found["sb3_reached"]) == (False, False)
    assert found["race"]["target_reward"] == pytest.approx((found["race"]["constant_reward"] + 1) / 2)
    (duel,) = found["race"]["same_arena"]["duels"]
    assert (duel["ours"]["reached"], duel["sb3"]["reached"]) == (False, False)
    assert found["same_arena_time_ratio"] == 1
    assert found["settings"]["race"]["recipe"]["rule"] == "none"
    assert "Race on market signals" in result.stderr


def test_without_the_peer_its_figures_are_null(gaelp, monkeypatch):
    monkeypatch.setattr(training_speed, "find_spec", lambda _: None)
    found = json.loads(gaelp(*QUICK, "--json").stdout)
    assert found["frames"]["ours_per_s"] > 0
    keys = (
        "same_arena_time_ratio",
        "frames_ratio_to_sb3",
        "time_to_target_ratio",
        "time_to_target_cpu_ratio",
        "sb3_reached",
    )
    assert [found[key] for key in keys] == [None] * len(keys)
    assert found["race"]["sb3"] is None


def test_without_json_a_table_is_shown(gaelp, monkeypatch):
    monkeypatch.setattr(training_speed, "find_spec", lambda _: None)
    shown = gaelp(*QUICK).stdout
    assert "frames per CPU-second" in shown
    assert "not reached" in shown
