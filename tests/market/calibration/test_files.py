import json
import os
import signal

import pytest

from gaelp.config.load import load_model
from gaelp.errors import ConfigError
from gaelp.market.calibration import CalibrationReport, check_target, write_calibration
from gaelp.market.landscape import build_landscapes
from gaelp.market.spec import MarketSpec


@pytest.fixture
def calibration(contested_calibration):
    return contested_calibration


def test_the_written_market_loads_as_the_same_market(calibration, tmp_path):
    write_calibration(calibration, market_path=tmp_path / "mine.yaml", report_path=tmp_path / "mine.report.json")
    loaded = load_model(MarketSpec, tmp_path / "mine.yaml")
    assert loaded == calibration.spec
    build_landscapes(loaded.landscapes, first_price=False, steepness=loaded.price.steepness)


def test_the_written_report_loads_as_the_same_report(calibration, tmp_path):
    write_calibration(calibration, market_path=tmp_path / "mine.yaml", report_path=tmp_path / "mine.report.json")
    values = json.loads((tmp_path / "mine.report.json").read_text())
    assert CalibrationReport.model_validate(values) == calibration.report
    assert values["statistics"]["price.level_micros"]["interval_low"] > 0


def test_nothing_is_written_when_one_of_the_files_cannot_be(calibration, tmp_path):
    (tmp_path / "mine.report.json").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        write_calibration(calibration, market_path=tmp_path / "mine.yaml", report_path=tmp_path / "mine.report.json")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.report.json"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_while_writing_waits_until_both_files_are_whole(calibration, tmp_path, monkeypatch, number):
    came, to_disk = [], os.fsync

    def interrupted(handle):
        signal.raise_signal(number)
        to_disk(handle)

    monkeypatch.setattr(os, "fsync", interrupted)
    before = signal.signal(number, lambda number, frame: came.append(sorted(path.name for path in tmp_path.iterdir())))
    try:
        write_calibration(calibration, market_path=tmp_path / "mine.yaml", report_path=tmp_path / "mine.report.json")
    finally:
        signal.signal(number, before)
    assert came == [["mine.report.json", "mine.yaml"]] * 2
    assert load_model(MarketSpec, tmp_path / "mine.yaml") == calibration.spec


def test_a_target_is_a_new_file_or_one_to_replace(tmp_path):
    (tmp_path / "there.yaml").touch()
    check_target(tmp_path / "new.yaml", replace=False)
    check_target(tmp_path / "later" / "new.yaml", replace=False)
    check_target(tmp_path / "there.yaml", replace=True)
    with pytest.raises(ConfigError, match=r"there\.yaml exists.*--force"):
        check_target(tmp_path / "there.yaml", replace=False)
    with pytest.raises(ConfigError, match="is a folder"):
        check_target(tmp_path, replace=True)
    with pytest.raises(ConfigError, match=r"there\.yaml is not a folder"):
        check_target(tmp_path / "there.yaml" / "new.yaml", replace=True)


def test_a_folder_that_cannot_be_written_to_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # whoever runs the tests may be allowed everything
    with pytest.raises(ConfigError, match="cannot be written to"):
        check_target(tmp_path / "new.yaml", replace=False)
