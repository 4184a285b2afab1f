"""The files that settings name: whether a run would find them, and find them right."""

from collections.abc import Callable

from gaelp.config.layers import LoadedSettings
from gaelp.config.load import load_model
from gaelp.config.problems import Problem, raise_problems
from gaelp.errors import BadInput
from gaelp.market.persona_spec import load_creatives, load_personas
from gaelp.market.spec import MarketSpec

__all__ = ["check_inputs"]


def check_inputs(loaded: LoadedSettings) -> None:
    """Read every file the settings name; what is wrong is told with the key that led there."""
    settings = loaded.settings
    loads: dict[str, Callable[[], object]] = {
        "market.name": lambda: load_model(MarketSpec, settings.market.name, "markets"),
        "personas.set": lambda: load_personas(settings.personas.set, load_creatives()),
    }
    raise_problems(problem for key, load in loads.items() for problem in _failure(loaded, key, load))


def _failure(loaded: LoadedSettings, key: str, load: Callable[[], object]) -> list[Problem]:
    try:
        load()
    except BadInput as problem:
        return [Problem(loaded.origins[key].place, tuple(key.split(".")), str(problem))]
    return []
