"""The manifest of a model version: what it was made from, what it proved, and the hash of each of its files."""

import unicodedata
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, NonNegativeInt, PositiveInt, model_validator

from gaelp.approvals.canonical import digest
from gaelp.approvals.field_types import Instant, Label, Sha256
from gaelp.config.base import Frozen
from gaelp.config.names import Name, Slug, check_name
from gaelp.errors import BadInput
from gaelp.gates.verdict import GateOutcome

__all__ = [
    "MANIFEST_DOMAIN",
    "BundleFile",
    "DataWindow",
    "Lineage",
    "ModelManifest",
    "VerdictRecord",
    "as_label",
    "check_bundle_path",
    "figure_text",
    "manifest_hash",
]

MANIFEST_DOMAIN = "model-manifest"

_LABEL_LENGTH_MAX = 200


def check_bundle_path(path: str) -> str:
    """The path itself if it is relative, below its folder, and each of its parts is a name; ValueError otherwise."""
    try:
        for part in path.split("/"):
            check_name(part, f"the file {path[:80]!r} of a version", error=BadInput)
    except BadInput as problem:
        raise ValueError(str(problem)) from None
    return path


def figure_text(value: float) -> str:
    """A figure as text that reads back as the same figure: what is signed holds no floating-point numbers."""
    return repr(float(value))


def as_label(text: str) -> str:
    """Free text as one printable line of at most 200 characters, in the one form that can be signed."""
    words = "".join(mark if mark.isprintable() else " " for mark in unicodedata.normalize("NFC", text)).split()
    return " ".join(words)[:_LABEL_LENGTH_MAX].strip() or "none given"


def _is_figure(text: str) -> str:
    try:
        figure = float(text)
    except ValueError:
        raise ValueError(f"saw {text[:40]!r}; allowed: a number as text, as figure_text writes it") from None
    if figure_text(figure) != text:
        raise ValueError(f"saw {text[:40]!r}; allowed: {figure_text(figure)}, the one way to write this number")
    return text


FigureText = Annotated[str, Field(strict=True), AfterValidator(_is_figure)]
BundlePath = Annotated[str, Field(strict=True, max_length=200), AfterValidator(check_bundle_path)]
CommitHash = Annotated[str, Field(strict=True, pattern=r"\A[0-9a-f]{40,64}\z")]


class _Signed(Frozen):
    """A part of what is signed: read back exactly as it was written."""

    model_config = ConfigDict(strict=True)


class BundleFile(_Signed):
    """One file of a version, below its folder `files`."""

    path: BundlePath
    size_bytes: NonNegativeInt
    sha256: Sha256


class DataWindow(_Signed):
    """Data that the model was made or judged with; simulated data have a source and no dates."""

    name: Slug  # such as calibration, validation, sealed, held-out
    source: Label
    begin: Instant | None = None
    end: Instant | None = None

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if (self.begin is None) != (self.end is None):
            raise ValueError(f"window {self.name} has only one of begin and end: give both, or neither")
        if self.begin is not None and self.end is not None and self.end <= self.begin:
            raise ValueError(f"window {self.name} ends at {self.end}, not after its begin {self.begin}: exchange them")
        return self


class VerdictRecord(_Signed):
    """One gate's verdict on the model, passed or refused; the whole verdict is a file of the version."""

    gate: Slug
    outcome: GateOutcome
    evidence_hash: Sha256
    verdict_hash: Sha256  # of the verdict as canonical text
    judged_at: Instant
    summary: Annotated[str, Field(strict=True, max_length=2000)]
    file: BundlePath


class Lineage(_Signed):
    """Where the version comes from."""

    run_id: Name
    attempt: PositiveInt
    parent: PositiveInt | None = None  # the version of the same name that it builds on


class ModelManifest(_Signed):
    """Everything that is known of a version. Figures are text, because signed JSON holds whole numbers only."""

    format: Literal[1] = 1
    name: Name
    version: PositiveInt
    model_hash: Sha256  # what people approve at a gate
    model_file: BundlePath  # the file that has this hash
    agent: Label
    learned: bool  # False: the agent is a tuned rule
    feature_version: Label
    config_hash: Label
    data_windows: tuple[DataWindow, ...] = Field(max_length=50)
    commit: CommitHash | None  # of the source; None outside a checkout
    dirty: bool | None  # whether the source differed from the commit
    packages: dict[Name, Label | None] = Field(max_length=500)  # None: not installed
    metrics: dict[str, FigureText] = Field(max_length=1000)
    verdicts: tuple[VerdictRecord, ...] = Field(min_length=1, max_length=50)  # oldest first
    lineage: Lineage
    files: tuple[BundleFile, ...] = Field(min_length=1, max_length=1000)
    registered_at: Instant

    @model_validator(mode="after")
    def _names_each_file_once(self) -> Self:
        paths = [file.path for file in self.files]
        if paths != sorted(set(paths)):
            raise ValueError("files are not sorted by path, or one is listed twice: list each once, in order")
        missing = {self.model_file, *(verdict.file for verdict in self.verdicts)} - set(paths)
        if missing:
            raise ValueError(f"{', '.join(sorted(missing))} is named and not among the files: add it")
        return self

    @property
    def figures(self) -> Mapping[str, float]:
        """The metrics as numbers."""
        return {name: float(text) for name, text in self.metrics.items()}


def manifest_hash(manifest: ModelManifest) -> str:
    """SHA-256 (hex) over every field of a manifest, and so over every file."""
    return digest(MANIFEST_DOMAIN, manifest.model_dump(mode="json"))
