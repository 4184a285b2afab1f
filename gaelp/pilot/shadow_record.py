"""What the agent saw and would have bid in the shadow days, hour by hour, in files of the attempt's folder."""

import os
from dataclasses import dataclass
from pathlib import Path

from gaelp.arrays import Bools, Floats, Floats32, Ints
from gaelp.config.private_files import make_private_folder
from gaelp.errors import DataError
from gaelp.market.policy_conformance import state_from_bytes, state_to_bytes
from gaelp.types import PolicyState

__all__ = ["ShadowFolder", "ShadowRecord"]

_STATE = "state.npz"


@dataclass(frozen=True, slots=True)
class ShadowRecord:
    """T hours of N campaigns x S segments; an hour that was missed has no inputs (NaN) and no bid (0)."""

    inputs: Floats32  # (T, N, S, features) as the policy saw them
    would_bid_micros: Ints  # (T, N, S) for a click
    bid_micros: Ints  # (T, N, S) in force, set by the advertiser
    decided: Bools  # (T,) hours with a decision
    impressions: Ints  # (T, N, S) this and the next four: as reported last, 0 in hours that are not reported yet
    clicks: Ints
    conversions: Floats
    cost_micros: Ints
    value_micros: Ints
    reported_hours: int


class ShadowFolder:
    """One file an hour, and one with the state after it; an hour is finished once the state says so."""

    def __init__(self, path: Path) -> None:
        self._path = path
        make_private_folder(path)

    def state(self) -> PolicyState | None:
        """The state after the last finished hour; None before the first."""
        path = self._path / _STATE
        return _read(path) if path.exists() else None

    def finish_hour(self, hour: int, arrays: PolicyState, state: PolicyState) -> None:
        """Store an hour, then the state: after a crash in between, the hour is stored again."""
        _write(self._path / f"hour-{hour:04d}.npz", arrays)
        _write(self._path / _STATE, state)

    def hour(self, hour: int) -> PolicyState:
        """The arrays of a finished hour."""
        return _read(self._path / f"hour-{hour:04d}.npz")


def _write(path: Path, arrays: PolicyState) -> None:
    beside = path.with_suffix(".new")
    with beside.open("wb") as file:
        file.write(state_to_bytes(arrays))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _read(path: Path) -> PolicyState:
    try:
        return state_from_bytes(path.read_bytes())
    except (OSError, ValueError, EOFError) as problem:
        raise DataError(
            f"{path} cannot be read ({problem}): delete its folder, and begin the shadow days again"
        ) from None
