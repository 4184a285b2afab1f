"""Where tuned parameters are written; a place that cannot or should not be used is refused before the search."""

import tempfile
from pathlib import Path

from gaelp.config.home import existing_part
from gaelp.config.load import load_model
from gaelp.config.places import absolute, find_file, names_in, shown
from gaelp.errors import DataError
from gaelp.market.baselines.tuned import FOLDER, TunedRules, market_fingerprint, tuned_name
from gaelp.market.market import Market

__all__ = ["target_file"]

_SUFFIX = ".yaml"


def target_file(market: Market, out: Path | None, *, replace: bool) -> Path:
    """The absolute path to write to: `out`, else configs/baselines/<market>.yaml of the current folder.

    What was tuned for another market is neither replaced nor hidden by a file of the same name, unless asked for.
    """
    path = absolute(out) if out else Path.cwd() / "configs" / FOLDER / f"{tuned_name(market)}{_SUFFIX}"
    _check_writable(path)
    if path.exists():
        if not replace:
            _check_same_market(path, market, effect="replaced")
    elif out is None and not replace and tuned_name(market) in names_in(FOLDER):
        _check_same_market(find_file(tuned_name(market), FOLDER, error=DataError), market, effect="hidden")
    return path


def _check_writable(path: Path) -> None:
    if path.is_dir():
        raise DataError(f"--out: {shown(path)} is a folder, a file allowed: name a file in it, such as tuned{_SUFFIX}")
    if path.suffix != _SUFFIX:
        raise DataError(f"--out: {path.name!r} seen, a name that ends in {_SUFFIX} allowed: add {_SUFFIX}")
    try:
        with tempfile.TemporaryFile(dir=existing_part(path.parent)):
            pass
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise DataError(
            f"{shown(path)} cannot be written: {reason}. Name a file in a folder that can be written, with --out."
        ) from None


def _check_same_market(path: Path, market: Market, *, effect: str) -> None:
    wanted = market_fingerprint(market)
    way_out = "Name another file with --out, or insist with --force"
    try:
        fingerprint = load_model(TunedRules, path, FOLDER, error=DataError).fingerprint
    except DataError as problem:
        raise DataError(f"{shown(path)} is no file of tuned bidders and would be {effect}. {way_out}.") from problem
    if fingerprint != wanted:
        raise DataError(
            f"{shown(path)} was tuned for another market (fingerprint {fingerprint[:12]}, {market.spec.name!r} here "
            f"has {wanted[:12]}) and would be {effect}. {way_out}; give a market of your own a `name:` of its own."
        )
