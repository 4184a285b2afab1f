"""Write a calibration: the market file that training loads, and the report beside it."""

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from gaelp.config.places import shown
from gaelp.config.write import model_text, write_texts
from gaelp.errors import ConfigError
from gaelp.market.calibration.report import Calibration

__all__ = ["check_target", "write_calibration"]


def write_calibration(
    calibration: Calibration, *, market_path: Path, report_path: Path, other_texts: Mapping[Path, str] | None = None
) -> None:
    """Write the market (.yaml), its report (.json or .yaml) and any other text; all of them or none."""
    models = {market_path: calibration.spec, report_path: calibration.report}
    with _uninterrupted():
        write_texts({path: model_text(path, model) for path, model in models.items()} | dict(other_texts or {}))


def check_target(path: Path, *, replace: bool) -> None:
    """Refuse, before any work, a file that could not be written or that `replace` does not allow to be replaced.

    Missing folders are made later, so the nearest existing one has to be writable.
    """
    try:
        if path.exists() and not (replace and path.is_file()):
            kind = "is a folder. Name a file" if path.is_dir() else "exists. Choose another name, or replace it"
            raise ConfigError(f"{shown(path)} {kind}; allowed: a new file, or with --force one to replace.")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
    except OSError as problem:
        raise ConfigError(f"{path} cannot be accessed: {problem.strerror}. Name another file.") from None
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        what = "cannot be written to" if folder.is_dir() else "is not a folder"
        raise ConfigError(f"{shown(path)} cannot be written: {folder} {what}. Name a file in a folder that can.")


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay SIGINT and SIGTERM until the files are in place; only the main thread receives them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []

    def remember(number: int, _: FrameType | None) -> None:
        waiting.append(number)

    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for came in waiting:
            signal.raise_signal(came)
