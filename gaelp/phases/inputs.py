"""Check the files and catalog entries that settings name: each must exist and be valid."""

from collections.abc import Callable, Mapping
from functools import partial

from gaelp.approvals.policy import load_policy
from gaelp.approvals.trust import load_trust
from gaelp.budget.pacing import DayPlan
from gaelp.budget.rules import load_rules
from gaelp.budget.signals import load_signals
from gaelp.config.layers import LoadedSettings
from gaelp.config.load import load_model
from gaelp.config.places import absolute
from gaelp.config.problems import Problem, raise_problems
from gaelp.config.settings import Settings
from gaelp.config.suggest import nearest
from gaelp.errors import BadInput
from gaelp.gates import Gate, load_gate
from gaelp.market.persona_spec import load_creatives, load_personas
from gaelp.market.spec import MarketSpec
from gaelp.phases.declared import PHASES
from gaelp.pilot.adverts_file import load_adverts
from gaelp.platforms.catalog import find_platform
from gaelp.sandbox.spec import load_sandbox_spec
from gaelp.training.curriculum_spec import load_curriculum
from gaelp.training.recipe import load_recipe
from gaelp.types import Phase

__all__ = ["REFERENCES", "check_inputs"]

# How to load what each key of the settings refers to; a null key refers to nothing.
REFERENCES: Mapping[str, Callable[[Settings], object]] = {
    "market.name": lambda settings: load_model(MarketSpec, settings.market.name, "markets"),
    "personas.set": lambda settings: load_personas(settings.personas.set, load_creatives()),
    "history.synthesize.world": lambda settings: (
        (made := settings.history.synthesize) and load_sandbox_spec(made.world)
    ),
    "pilot.adverts": lambda settings: (name := settings.pilot.adverts) and load_adverts(name),
    "training.agent": lambda settings: load_recipe(settings.training.agent),
    "training.curriculum": lambda settings: (name := settings.training.curriculum) and load_curriculum(name),
    "approvals.policy": lambda settings: load_policy(settings.approvals.policy),
    # A list that does not exist yet trusts nobody; `gaelp keys trust` creates it.
    "approvals.trust": lambda settings: (path := settings.approvals.trust) and load_trust(absolute(path)),
    "scale.rules": lambda settings: load_rules(settings.scale.rules),
    "budget.rules": lambda settings: load_rules(settings.budget.rules),
    "budget.signals": lambda settings: load_signals(settings.budget.signals),
    "budget.plan": lambda settings: (name := settings.budget.plan) and load_model(DayPlan, name, "budget"),
    "platform.name": lambda settings: (name := settings.platform.name) and find_platform(name),
}


def check_inputs(loaded: LoadedSettings) -> None:
    """Load everything the settings name; report each problem with the file, line and key that names it."""
    gates = {f"gate.files.{name}": partial(_load_gate, name) for name in loaded.settings.gate.files}
    references: dict[str, Callable[[Settings], object]] = {**REFERENCES, **gates}
    raise_problems(problem for key in references for problem in _failure(loaded, key, references[key]))


def _load_gate(name: str, settings: Settings) -> Gate:
    others = (other for declared in PHASES for other in declared.other_gates)
    known = sorted({*Phase, *(str(declared.gate or declared.phase) for declared in PHASES), *others})
    if name not in known:
        raise BadInput(f"there is no gate {name!r}; there are {', '.join(known)}.{nearest(name, known)}")
    return load_gate(name, settings.gate)


def _failure(loaded: LoadedSettings, key: str, resolve: Callable[[Settings], object]) -> list[Problem]:
    try:
        resolve(loaded.settings)
    except BadInput as problem:
        return [Problem(loaded.origins[key].place, tuple(key.split(".")), str(problem))]
    return []
