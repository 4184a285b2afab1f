"""What is said of a model when it is registered, and the manifest that is made of it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import Field, PositiveInt, ValidationError

from gaelp.approvals.field_types import Sha256
from gaelp.config.base import Frozen
from gaelp.config.names import Name
from gaelp.errors import BadInput
from gaelp.gates import Verdict, check_replay
from gaelp.registry.approved_gate import verdict_hash
from gaelp.registry.manifest import BundleFile, DataWindow, ModelManifest, VerdictRecord, as_label, figure_text

__all__ = ["HashModel", "ModelDescription", "make_manifest", "verdict_records", "verdict_texts"]

HashModel = Callable[[Path], str]  # the hash that people approve, of a model's file


class ModelDescription(Frozen):
    """A model that is about to become a version."""

    name: Name
    run_id: Name
    attempt: PositiveInt = 1
    model_hash: Sha256  # what people approve at a gate
    model_file: str = Field(min_length=1)  # the name, among the files, of the one that has this hash
    agent: str = Field(min_length=1)
    learned: bool
    feature_version: str = Field(min_length=1)  # of the observations that the model reads
    config_hash: str = Field(min_length=1)
    data_windows: tuple[DataWindow, ...] = ()
    commit: str | None = None
    dirty: bool | None = None
    packages: dict[str, str | None] = Field(default_factory=dict)
    metrics: dict[str, float] = Field(default_factory=dict)


def verdict_texts(verdicts: Sequence[Verdict]) -> dict[str, bytes]:
    """The verdicts as files of a version."""
    return {_file(number, verdict): verdict.canonical_json().encode("ascii") for number, verdict in _each(verdicts)}


def verdict_records(verdicts: Sequence[Verdict]) -> tuple[VerdictRecord, ...]:
    """What a manifest says of each verdict; one that does not follow from its evidence is refused."""
    for verdict in verdicts:
        check_replay(verdict)
    return tuple(
        VerdictRecord(
            gate=verdict.gate.name,
            outcome=verdict.outcome,
            evidence_hash=verdict.evidence_hash,
            verdict_hash=verdict_hash(verdict),
            judged_at=verdict.judged_at,
            summary=as_label(verdict.summary),
            file=_file(number, verdict),
        )
        for number, verdict in _each(verdicts)
    )


def make_manifest(
    description: ModelDescription,
    *,
    version: int,
    parent: int | None,
    verdicts: Sequence[Verdict],
    files: Sequence[BundleFile],
    at: datetime,
) -> ModelManifest:
    """The manifest of a new version; BadInput names what cannot be part of one."""
    values = description.model_dump(exclude={"run_id", "attempt"})
    texts = {name: as_label(values[name]) for name in ("agent", "feature_version", "config_hash")}
    try:
        return ModelManifest.model_validate(
            {
                **values,
                **texts,
                "data_windows": description.data_windows,
                "metrics": _figures(description.metrics),
                "version": version,
                "verdicts": verdict_records(verdicts),
                "lineage": {"run_id": description.run_id, "attempt": description.attempt, "parent": parent},
                "files": tuple(files),
                "registered_at": at,
            }
        )
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise BadInput(f"this model cannot be registered: {where}: {first['msg']}") from None


def _figures(metrics: Mapping[str, float]) -> dict[str, str]:
    return {name: figure_text(value) for name, value in sorted(metrics.items())}


def _each(verdicts: Sequence[Verdict]) -> list[tuple[int, Verdict]]:
    return list(enumerate(verdicts, start=1))


def _file(number: int, verdict: Verdict) -> str:
    return f"verdicts/{number}-{verdict.gate.name}.json"
