"""The champion of the model registry as a policy that can play: what a new agent must not be worse than."""

from gaelp.config.settings import Settings
from gaelp.phases.agent_bundle import Agent, load_bundle
from gaelp.registry.registry import open_registry

__all__ = ["champion_of"]


def champion_of(settings: Settings, run_id: str) -> Agent | None:
    """The champion under the name of the run, verified; None if there is none, or if it is this run's own model."""
    version = open_registry(settings).champion(settings.run.name)
    if version is None or version.manifest.lineage.run_id == run_id:
        return None
    return load_bundle(version.model_path.parent, settings)
