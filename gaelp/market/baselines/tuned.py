"""Tuned parameters as data: one file per market, refused when the market is no longer the one they were tuned on."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt, PositiveInt

from gaelp.config.base import Frozen
from gaelp.config.fingerprint import fingerprint
from gaelp.config.load import load_model
from gaelp.config.places import names_in
from gaelp.config.validation import validated
from gaelp.errors import DataError
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.catalog import CATALOG, CONSTANT, Kind
from gaelp.market.market import Market

__all__ = ["TunedBidder", "TunedRules", "as_yaml", "load_tuned", "market_fingerprint"]

_FOLDER = "baselines"


class TunedBidder(Frozen):
    """The parameters a tuner settled on, and the mean reward they had on training episodes."""

    score: float
    parameters: dict[str, Any]


class TunedRules(Frozen):
    """Every bidder's parameters for one market, and the search they come from."""

    market: str
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
    """What identifies a market: its numbers, landscapes and personas; not what it is called."""
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
    return digest.hexdigest()


def load_tuned(market: Market, path_or_name: str | Path | None = None) -> TunedRules:
    """The tuned parameters for a market: configs/baselines/<market>.yaml, or the file that is named."""
    name = market.spec.name
    if path_or_name is None and name not in (known := names_in(_FOLDER)):
        raise DataError(
            f"no bidders were tuned for market {name!r}, only for {', '.join(known) or 'none'}: "
            f"run `gaelp market tune {name}` first"
        )
    source = path_or_name or name
    tuned = load_model(TunedRules, source, _FOLDER, error=DataError)
    seen, wanted = tuned.fingerprint, market_fingerprint(market)
    if seen != wanted:
        raise DataError(
            f"the bidders of {str(source)!r} were tuned on a market with fingerprint {seen[:12]}, "
            f"market {name!r} now has {wanted[:12]}: tune them again with `gaelp market tune {name}`"
        )
    _check_bidders(tuned, str(source))
    return tuned


def _check_bidders(tuned: TunedRules, source: str) -> None:
    kinds = {kind.key: kind for kind in CATALOG}
    for key, bidder in tuned.bidders.items():
        if key not in kinds:
            raise DataError(f"{source}: bidder {key!r} is not known; allowed: {', '.join(kinds)}. Remove it.")
        place = f"{source}, bidders.{key}.parameters"
        validated(kinds[key].parameters, bidder.parameters, partial(_at, place), error=DataError)


def _at(place: str, _path: object) -> str:
    return place


def as_yaml(tuned: TunedRules) -> str:
    """The text of the file that `load_tuned` reads."""
    head = (
        "# Written by `gaelp market tune`: parameters found by search on training episodes, with their reward there.\n"
    )
    return head + "".join(_lines(tuned.model_dump(), 0))


def _lines(values: Mapping[str, Any], depth: int) -> Iterator[str]:
    for key, value in values.items():
        start = f"{'  ' * depth}{key}:"
        if isinstance(value, Mapping):
            yield f"{start}\n"
            yield from _lines(value, depth + 1)
        else:
            yield f"{start} {value}\n"
