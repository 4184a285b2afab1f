"""Register the model of a run whose gate was passed: what a phase calls, with plain values."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.errors import Refused
from gaelp.gates import Verdict
from gaelp.registry.description import HashModel, ModelDescription
from gaelp.registry.manifest import DataWindow
from gaelp.registry.registry import file_sha256, open_registry
from gaelp.registry.verified import VerifiedVersion

__all__ = ["register_passed"]


def register_passed(
    settings: Settings,
    *,
    clock: Clock,
    run_id: str,
    attempt: int,
    agent: str,
    learned: bool,
    model_hash: str,
    model: Path,
    verdicts: Sequence[Verdict],
    feature_version: str,
    config_hash: str,
    more_files: Mapping[str, Path] | None = None,
    data_windows: Sequence[DataWindow] = (),
    commit: str | None = None,
    dirty: bool | None = None,
    packages: Mapping[str, str | None] | None = None,
    name: str | None = None,
    hash_model: HashModel = file_sha256,
) -> VerifiedVersion:
    """Register the model under the run's name, with every verdict on it so far, the newest last.

    The parent is the version that the same run registered before, else the champion at this moment. `model` keeps its
    file name; `more_files` are the recipe, the parameters of the rule inside and the like, by their names in the
    version. Calling it again, as a resumed run does, returns the same version.
    """
    if not verdicts or verdicts[-1].outcome != "pass":
        outcome = verdicts[-1].outcome if verdicts else "missing"
        raise Refused(f"run {run_id}: the newest verdict is {outcome}; a model is registered after it passed a gate")
    description = ModelDescription(
        name=name or settings.run.name,
        run_id=run_id,
        attempt=attempt,
        model_hash=model_hash,
        model_file=model.name,
        agent=agent,
        learned=learned,
        feature_version=feature_version,
        config_hash=config_hash,
        data_windows=tuple(data_windows),
        commit=commit,
        dirty=dirty,
        packages=dict(packages or {}),
        metrics=dict(verdicts[-1].evidence.metrics),
    )
    files = {**(more_files or {}), model.name: model}
    return open_registry(settings, clock).register(description, files, verdicts, hash_model=hash_model)
