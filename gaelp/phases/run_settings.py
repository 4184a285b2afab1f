"""The settings of a run: recorded when it begins and unchanged until it ends, whatever happens to the files.

Secrets are not recorded: they come from the environment of the process that works on the run.
"""

import copy
import hashlib
import json
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pydantic import SecretStr

from gaelp.approvals import ApprovalPolicy, load_policy, stricter
from gaelp.config import LoadedSettings, Settings, fingerprint
from gaelp.config.base import Frozen
from gaelp.config.places import shown
from gaelp.config.schema import secret_keys
from gaelp.config.validation import validated
from gaelp.config.write import write_models
from gaelp.errors import BadInput, DataError
from gaelp.phases.run_folder import RunFolder

__all__ = ["KeptSettings", "RecordedSettings", "keep_settings", "read_settings"]


class RecordedSettings(Frozen):
    """The settings and approval policy that a run was begun with."""

    fingerprint: str  # of policy and values
    policy: ApprovalPolicy  # at the run's gates; a later edit of its file cannot make it less strict
    values: dict[str, Any]  # without secrets

    def policy_in_force(self) -> ApprovalPolicy:
        """Return the recorded policy, or the present policy of that name if it is stricter."""
        return stricter(self.policy, load_policy(self.values["approvals"]["policy"]))


@dataclass(frozen=True, slots=True)
class KeptSettings:
    """The settings of a run, its approval policy, and how the configuration files differ by now."""

    settings: Settings
    policy: ApprovalPolicy
    differences: tuple[str, ...]


def read_settings(run: RunFolder) -> RecordedSettings | None:
    """Return what the run was begun with; None for a run from before settings were recorded."""
    if not run.settings.exists():
        return None
    try:
        content = run.settings.read_bytes()
        recorded = RecordedSettings.model_validate_json(content)
        raw = json.loads(content)
    except ValueError as problem:
        raise DataError(
            f"{shown(run.settings)} does not say which settings run {run.run_id!r} was begun with"
            f" ({str(problem).splitlines()[0]}): restore it from a copy, or begin another run"
        ) from problem
    # Before policies were covered, the fingerprint was that of the values alone.
    if recorded.fingerprint not in {_digest([raw["policy"], raw["values"]]), _digest(raw["values"])}:
        raise DataError(
            f"{shown(run.settings)} was edited: its settings and approval policy do not have the fingerprint"
            f" {recorded.fingerprint[:12]} recorded when run {run.run_id!r} began. Restore it from a copy, or begin"
            " another run"
        )
    return recorded


def _digest(document: Any) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def keep_settings(run: RunFolder, loaded: LoadedSettings) -> KeptSettings:
    """Record the settings of a run that begins; for one that resumes, return what was recorded."""
    kept = read_settings(run)
    if kept is None:
        policy = load_policy(loaded.settings.approvals.policy)
        values = loaded.settings.model_dump(mode="json")
        covered = _digest([policy.model_dump(mode="json"), values])
        write_models({run.settings: RecordedSettings(fingerprint=covered, policy=policy, values=values)})
        return KeptSettings(loaded.settings, policy, ())
    settings = _restored(run, kept, loaded.settings)
    return KeptSettings(settings, kept.policy_in_force(), tuple(_differences(settings, loaded)))


def _restored(run: RunFolder, kept: RecordedSettings, now: Settings) -> Settings:
    values = copy.deepcopy(kept.values) | {"home": str(now.home)}  # a home may be moved
    for path in secret_keys(Settings):
        *above, last = path
        section = reduce(_below, above, values)
        if not isinstance(section, dict) or section.get(last) is None:
            continue
        secret = reduce(_attribute, path, now)
        if not isinstance(secret, SecretStr):
            raise BadInput(
                f"run {run.run_id!r} was begun with a secret for {'.'.join(path)}, and there is none now: set"
                f" GAELP__{'__'.join(path).upper()} where the run is resumed"
            )
        section[last] = secret.get_secret_value()
    return validated(Settings, values, lambda _: shown(run.settings), error=DataError)


def _below(node: Any, key: str) -> Any:
    return node.get(key) if isinstance(node, dict) else None


def _attribute(node: Any, key: str) -> Any:
    return getattr(node, key, None)


def _differences(kept: Settings, now: LoadedSettings) -> list[str]:
    if fingerprint(kept) == now.hash:
        return []
    begun, current = LoadedSettings(kept, {}).values, now.values
    differing = [key for key in sorted(begun.keys() | current.keys()) if begun.get(key) != current.get(key)]
    return [
        f"{now.origins[key].place if key in now.origins else 'the configuration'}: {key} is"
        f" {current.get(key, 'absent')} now; the run keeps {begun.get(key, 'absent')}, which it was begun with"
        for key in differing
    ]
