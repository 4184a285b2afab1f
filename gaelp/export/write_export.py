"""Export a registered version: build its agent, write its network, compare the bids, and only then place the folder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gaelp.agents.acting_network import acting_network
from gaelp.clock import Clock
from gaelp.config.settings import Settings
from gaelp.errors import BadInput, Refused
from gaelp.export.export_folder import bundle_file, export_place, place_export
from gaelp.export.export_manifest import ExportFormat, ExportManifest, Parity
from gaelp.export.exported_policy import policy_maker
from gaelp.export.network_files import ActOn, onnx_bytes, run_onnx, run_torchscript, torchscript_bytes
from gaelp.export.parity import DECISIONS, measure_parity
from gaelp.export.policy_card import CARD, card_text
from gaelp.market.baselines.tuned import TunedRules
from gaelp.phases.agent_bundle import Agent, load_bundle
from gaelp.phases.agent_registration import feature_version
from gaelp.registry import Registry, VerifiedVersion
from gaelp.registry.registry_key import key_place, signing_key
from gaelp.training.manifest import package_versions
from gaelp.training.recipe import NO_RULE
from gaelp.training.segment_env import SegmentFeatures

__all__ = ["NETWORK_FILES", "DraftExport", "check_formats", "draft_export", "export_version"]

NETWORK_FILES: dict[ExportFormat, str] = {"onnx": "network.onnx", "torchscript": "network.torchscript"}
_RULE_FILE = "rule.json"
_PACKAGES = ("numpy", "onnx", "onnxruntime", "onnxscript", "torch")


@dataclass(frozen=True, slots=True)
class DraftExport:
    """An agent's files, after their bids were compared with the agent's."""

    files: dict[str, bytes]
    parity: tuple[Parity, ...]
    manifest: ExportManifest


def export_version(
    settings: Settings,
    registry: Registry,
    name: str,
    version: int,
    *,
    clock: Clock,
    formats: Sequence[ExportFormat] = ("onnx", "torchscript"),
    decisions: int = DECISIONS,
) -> Path:
    """Write the export of a version below the home and return its folder; Refused unless its bids are the same."""
    state = registry.check()
    verified = registry.verify(name, version)
    if verified.manifest.feature_version != feature_version():
        raise Refused(
            f"{verified.text} reads features {verified.manifest.feature_version}, this release computes"
            f" {feature_version()}: export it with the release that registered it, or train again"
        )
    agent = load_bundle(verified.model_path.parent, settings)
    draft = draft_export(agent, verified, formats, at=clock.now().isoformat(), decisions=decisions)
    card = card_text(draft.manifest, verified.manifest, verified.verdicts(), state.model(name).aliases)
    files = {**draft.files, CARD: card.encode("utf-8")}
    manifest = draft.manifest.model_copy(
        update={"files": tuple(bundle_file(path, content) for path, content in sorted(files.items()))}
    )
    folder = export_place(settings, name, version)
    place_export(folder, manifest, files, signing_key(key_place(settings), state.public_key or ""))
    return folder


def draft_export(
    agent: Agent, version: VerifiedVersion, formats: Sequence[ExportFormat], *, at: str, decisions: int = DECISIONS
) -> DraftExport:
    """The files of an export in memory, each format compared with the agent on at least so many decisions."""
    recipe = agent.description.recipe
    values: dict[str, Any] = {
        "name": version.manifest.name,
        "version": version.manifest.version,
        "manifest_hash": version.manifest_hash,
        "model_hash": version.manifest.model_hash,
        "agent": agent.description.name,
        "learned": agent.learner is not None,
        "algorithm": None if agent.learner is None else recipe.algorithm,
        "rule": recipe.rule,
        "rule_parameters": _rule_parameters(agent.tuned, recipe.rule),
        "residual": recipe.arena.residual,
        "market": agent.description.market,
        "objective": agent.description.objective,
        "feature_version": version.manifest.feature_version,
        "observation_size": SegmentFeatures.size(agent.description.objective),
        "packages": package_versions(_PACKAGES),
        "exported_at": at,
        "files": (),
    }
    files = {_RULE_FILE: json.dumps({key: values[key] for key in ("rule", "rule_parameters")}, indent=1).encode()}
    parities = []
    for as_format, content, act_on in _networks(agent, formats):
        if content is not None:
            files[NETWORK_FILES[as_format]] = content
        build = policy_maker(ExportManifest(**values, parity=(_NOT_YET,)), act_on)
        seed = agent.description.seed
        parities.append(
            measure_parity(agent.policy, build(), agent.market, as_format=as_format, decisions=decisions, seed=seed)
        )
    return DraftExport(files, tuple(parities), ExportManifest(**values, parity=tuple(parities)))


_NOT_YET = Parity(
    format="parameters",
    decisions=1,
    bids=1,
    different_bids=0,
    largest_difference_micros=0,
    largest_relative_difference=0.0,
    outside=0,
)


def _networks(agent: Agent, formats: Sequence[ExportFormat]) -> list[tuple[ExportFormat, bytes | None, ActOn | None]]:
    """Each format with its bytes and what runs them; a rule alone has parameters only."""
    if agent.learner is None:
        return [("parameters", None, None)]
    network = acting_network(agent.learner, agent.description.recipe.algorithm)
    size = SegmentFeatures.size(agent.description.objective)
    made: list[tuple[ExportFormat, bytes | None, ActOn | None]] = []
    for as_format in formats:
        content = onnx_bytes(network, size) if as_format == "onnx" else torchscript_bytes(network, size)
        made.append((as_format, content, run_onnx(content) if as_format == "onnx" else run_torchscript(content)))
    return made


def check_formats(formats: Sequence[str]) -> tuple[ExportFormat, ...]:
    """The formats, if a network can be written in each of them."""
    if unknown := [each for each in formats if each not in NETWORK_FILES]:
        raise BadInput(f"format {unknown[0][:40]!r}; allowed: {', '.join(NETWORK_FILES)}")
    return tuple(each for each in NETWORK_FILES if each in formats)


def _rule_parameters(tuned: TunedRules, rule: str) -> dict[str, Any]:
    return {} if rule == NO_RULE else tuned.bidders[rule].parameters
