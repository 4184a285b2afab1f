"""Capture and restore named random generators, so that a resumed run draws what the uninterrupted one would have.

Python's `random` (the module, or a Random), NumPy Generators and torch Generators; torch's global one is
`torch.default_generator`. What a NumPy Generator's `spawn` would give next is no part of its state: derive streams from
the run's seed, not from a generator that is captured.
"""

import random
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import torch

from gaelp.errors import BadInput, DataError

__all__ = ["RandomSource", "capture_rng", "restore_rng"]

RandomSource = random.Random | ModuleType | np.random.Generator | torch.Generator


def capture_rng(sources: Mapping[str, RandomSource]) -> dict[str, Any]:
    """The state of each source under its name, as a checkpoint can hold it."""
    return {name: {"kind": _kind(name, source), "state": _state(source)} for name, source in sources.items()}


def restore_rng(sources: Mapping[str, RandomSource], captured: Mapping[str, Any]) -> None:
    """Put each source into its captured state; the names and kinds must be those that were captured."""
    _check_names(sources, captured)
    for name, source in sources.items():
        kind, saved = _kind(name, source), captured[name]
        if not isinstance(saved, dict) or saved.keys() != {"kind", "state"} or saved["kind"] != kind:
            seen = saved.get("kind") if isinstance(saved, dict) else type(saved).__name__
            raise DataError(f"random generator {name!r}: the saved state is of {seen!r}, this run uses {kind!r}")
    before = capture_rng(sources)
    try:
        for name, source in sources.items():
            _set_state(source, captured[name]["state"])
    except (KeyError, OverflowError, RuntimeError, TypeError, ValueError) as problem:
        for done, source in sources.items():
            _set_state(source, before[done]["state"])
        raise DataError(f"random generator {name!r}: the saved state does not fit: {problem}") from problem


def _check_names(sources: Mapping[str, RandomSource], captured: Mapping[str, Any]) -> None:
    if sources.keys() != captured.keys():
        missing, unknown = sorted(sources.keys() - captured.keys()), sorted(captured.keys() - sources.keys())
        raise DataError(
            f"random generators differ: the saved state lacks {missing} and holds {unknown} besides:"
            " resume with the generators that were captured"
        )


def _kind(name: str, source: object) -> str:
    if source is random or isinstance(source, random.Random):
        return "python"
    if isinstance(source, np.random.Generator):
        return f"numpy {type(source.bit_generator).__name__}"
    if isinstance(source, torch.Generator):
        return f"torch {source.device.type}"
    raise BadInput(
        f"random generator {name!r}: saw a {type(source).__name__}; allowed: the module random, a random.Random,"
        " a NumPy Generator or a torch.Generator (torch.default_generator is the global one)"
    )


def _state(source: Any) -> Any:
    if isinstance(source, np.random.Generator):
        return source.bit_generator.state
    return source.get_state() if isinstance(source, torch.Generator) else source.getstate()


def _set_state(source: Any, state: Any) -> None:
    if isinstance(source, np.random.Generator):
        source.bit_generator.state = state
    elif isinstance(source, torch.Generator):
        source.set_state(state)
    else:
        source.setstate(state)
