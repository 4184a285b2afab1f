"""Register an agent that passed gate 2, 3 or 4 as a version of the model registry; an alias is given by a person."""

import hashlib
from collections.abc import Sequence

from gaelp.clock import Clock
from gaelp.config.places import repository_root
from gaelp.config.settings import Settings
from gaelp.market.spaces import GLOBAL_FEATURES, OBJECTIVE_FEATURES, SEGMENT_FEATURES
from gaelp.phases.agent_bundle import BUNDLE_FILES
from gaelp.phases.history_result import HistoryResult
from gaelp.phases.phase_result import PhaseResult
from gaelp.phases.simulation import hash_agent
from gaelp.registry.manifest import DataWindow
from gaelp.registry.passed import register_passed
from gaelp.training.manifest import PACKAGES, package_versions, read_commit
from gaelp.training.segment_env import EXTRA_FEATURES
from gaelp.types import Phase

__all__ = ["feature_version", "register_agent"]


def feature_version() -> str:
    """What identifies the observation that agents of this release read: a hash of its features, in their order."""
    features = (GLOBAL_FEATURES, SEGMENT_FEATURES, EXTRA_FEATURES, OBJECTIVE_FEATURES)
    return hashlib.sha256(repr(features).encode()).hexdigest()[:12]


def register_agent(settings: Settings, passed: Sequence[PhaseResult], clock: Clock) -> None:
    """Store the files of the agent with the verdicts of the gates it passed; a second call changes nothing."""
    result = passed[-1]
    [history] = (each for each in passed if each.phase is Phase.HISTORY)
    details = HistoryResult.model_validate_json(history.folder(settings.home).details.read_bytes())
    model = result.model_file(settings.home)
    more = {name: model.parent / name for name in BUNDLE_FILES if (model.parent / name).exists()}
    source = read_commit(repository_root())
    register_passed(
        settings,
        clock=clock,
        run_id=result.run_id,
        attempt=result.attempt,
        agent=result.agent,
        learned=result.learned,
        model_hash=result.model_hash,
        model=model,
        verdicts=[each.verdict for each in passed],
        feature_version=feature_version(),
        config_hash=passed[0].verdict.evidence.config_hash,
        more_files={name: path for name, path in more.items() if name != model.name},
        data_windows=[
            DataWindow(name=window.name, source=details.splits.history, begin=window.since, end=window.until)
            for window in details.splits.windows
        ],
        commit=source.commit,
        dirty=source.dirty,
        packages=package_versions(PACKAGES),
        hash_model=hash_agent,
    )
