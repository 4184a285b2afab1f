"""Tuned parameters as data: one file per market, refused when the market is no longer the one they were tuned on."""

import hashlib
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field, NonNegativeInt, PositiveInt

from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint
from gaelp.config.load import load_model
from gaelp.config.objective import VALUE, Objective, is_value
from gaelp.config.places import names_in
from gaelp.config.validation import validated
from gaelp.errors import DataError
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.catalog import CATALOG, CONSTANT, Kind
from gaelp.market.market import Market

__all__ = ["FOLDER", "TunedBidder", "TunedRules", "load_tuned", "load_tuned_file", "market_fingerprint", "tuned_name"]

FOLDER = "baselines"  # below configs/


class TunedBidder(Frozen):
    """The parameters a tuner settled on, and the mean reward they had on training episodes."""

    score: float
    parameters: dict[str, Any]


class TunedRules(Frozen):
    """Every bidder's parameters for one market, and the search they come from."""

    market: str
    objective: Objective = Field(default=VALUE, exclude_if=is_value)  # absent in files from before there were others
    fingerprint: str
    seed: NonNegativeInt
    trials: PositiveInt
    campaigns: PositiveInt
    bidders: dict[str, TunedBidder]

    def build(self, key: str) -> Bidder:
        """One bidder with its tuned parameters."""
        kind = next((kind for kind in self.kinds if kind.key == key), None)
        if kind is None:
            raise DataError(f"no tuned bidder {key!r} for market {self.market!r}; there are {', '.join(self.bidders)}")
        return kind.build(self.bidders[key].parameters)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of bidders that were tuned, in the order of the catalog."""
        return tuple(kind for kind in CATALOG if kind.key in self.bidders)

    def constant(self) -> Bidder:
        """The constant bid that every comparison measures from."""
        return self.build(CONSTANT.key)

    def build_all(self) -> tuple[Bidder, ...]:
        """Every bidder with its tuned parameters."""
        return tuple(self.build(kind.key) for kind in self.kinds)


def market_fingerprint(market: Market) -> str:
    """What identifies a market: its numbers, landscapes, personas and objective; not what it is called."""
    numbers = market.spec.model_copy(update={"name": "", "label": ""})
    digest = hashlib.sha256(fingerprint(numbers).encode("ascii"))
    personas = market.personas
    for array in (
        market.landscapes.win,
        personas.share.astype("float32"),
        personas.activity,
        personas.price_log,
        personas.click_log,
        personas.conversion_log,
        personas.value_log,
        personas.intent_log,
        personas.fatigue,
        personas.delay_index,
        personas.affinity_log,
    ):
        digest.update(array.tobytes())
    if not is_value(market.objective):
        digest.update(fingerprint(market.objective).encode("ascii"))
    return digest.hexdigest()


def tuned_name(market: Market) -> str:
    """The name of the file for a market: its own, with the objective behind it unless that is value."""
    return market.spec.name if is_value(market.objective) else f"{market.spec.name}-{market.objective.key}"


def load_tuned(
    market: Market, path_or_name: str | Path | None = None, *, asked: Sequence[str] | None = None
) -> TunedRules:
    """The tuned parameters for a market and its objective: a file of configs/baselines/, or the one that is named.

    `asked` holds the arguments of `gaelp market tune` that name this market, for the advice in an error.
    """
    name = tuned_name(market)
    asked = [market.spec.name, *_objective_option(market)] if asked is None else asked
    if path_or_name is None and name not in (known := names_in(FOLDER)):
        raise DataError(
            f"no bidders were tuned for market {name!r}, only for {', '.join(known) or 'none'}: "
            f"run `{_tune_command(asked)}` first"
        )
    source = path_or_name or name
    tuned = load_tuned_file(source)
    tuned_for, wanted = tuned.fingerprint, market_fingerprint(market)
    if tuned_for != wanted:
        raise DataError(
            f"the bidders of {str(source)!r} were tuned for a market with fingerprint {tuned_for[:12]}, {name!r} now "
            f"has {wanted[:12]}: {_way_out(asked, Path(f'tuned-{name}.yaml'))}"
        )
    _check_bidders(tuned, str(source))
    return tuned


def load_tuned_file(path_or_name: str | Path) -> TunedRules:
    """The tuned parameters of a file, whichever market they are for."""
    return load_model(TunedRules, path_or_name, FOLDER, error=DataError)


def _objective_option(market: Market) -> tuple[str, ...]:
    return () if is_value(market.objective) else ("--objective", market.objective.text)


def _way_out(asked: Sequence[str], file: Path) -> str:
    """Advise a new file: the existing one may be right for another market."""
    replaced = ["--force"] if file.exists() else []
    command = _tune_command([*asked, "--out", str(file), *replaced])
    return f"tune for this one with `{command}`, then give `--tuned {shlex.quote(str(file))}`"


def _tune_command(arguments: Sequence[str]) -> str:
    return shlex.join(["gaelp", "market", "tune", *arguments])


def _check_bidders(tuned: TunedRules, source: str) -> None:
    kinds = {kind.key: kind for kind in CATALOG}
    if CONSTANT.key not in tuned.bidders:
        raise DataError(f"{source}: no bidder {CONSTANT.key!r}, from which every comparison measures: tune again.")
    for key, bidder in tuned.bidders.items():
        if key not in kinds:
            raise DataError(f"{source}: bidder {key!r} is not known; allowed: {', '.join(kinds)}. Remove it.")
        place = f"{source}, bidders.{key}.parameters"
        validated(kinds[key].parameters, bidder.parameters, partial(_at, place), error=DataError)


def _at(place: str, _path: object) -> str:
    return place
