import json

import pytest

from gaelp.config.load import load_model
from gaelp.config.market import MarketSpec
from gaelp.errors import ConfigError
from gaelp.market.calibration import CalibrationReport, write_calibration
from gaelp.market.landscape import build_landscapes


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
