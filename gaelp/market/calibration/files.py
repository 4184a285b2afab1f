"""Write a calibration: the market file that training loads, and the report beside it."""

from pathlib import Path

from gaelp.config.write import write_models
from gaelp.market.calibration.report import Calibration

__all__ = ["write_calibration"]


def write_calibration(calibration: Calibration, *, market_path: Path, report_path: Path) -> None:
    """Write the market (.yaml) and its report (.json or .yaml); both or neither."""
    write_models({market_path: calibration.spec, report_path: calibration.report})
