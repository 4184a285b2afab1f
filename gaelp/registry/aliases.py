"""Aliases of a model's versions: champion, challenger, previous, and the moves that change who has them."""

from typing import Literal, Self

from pydantic import ConfigDict, PositiveInt, model_validator

from gaelp.approvals.field_types import Instant, Label, Sha256
from gaelp.config.base import Frozen
from gaelp.config.names import Name, Slug
from gaelp.errors import BadInput, Refused

__all__ = [
    "ALIASES",
    "AliasMove",
    "AliasName",
    "Aliases",
    "GateReference",
    "PromotedAlias",
    "check_alias",
    "promoted",
    "rolled_back",
]

AliasName = Literal["champion", "challenger", "previous"]
PromotedAlias = Literal["champion", "challenger"]

ALIASES: tuple[AliasName, ...] = ("champion", "challenger", "previous")


class Aliases(Frozen):
    """Which version of a model has which alias; None: no version has it."""

    model_config = ConfigDict(strict=True)

    champion: PositiveInt | None = None
    challenger: PositiveInt | None = None
    previous: PositiveInt | None = None

    def of(self, alias: AliasName) -> int | None:
        """The version that has an alias."""
        version: int | None = getattr(self, alias)
        return version

    def named(self, version: int) -> tuple[AliasName, ...]:
        """The aliases of a version."""
        return tuple(alias for alias in ALIASES if self.of(alias) == version)


class GateReference(Frozen):
    """The verdict and the person's decision that a promotion rests on."""

    model_config = ConfigDict(strict=True)

    run_id: Name
    gate: Slug
    evidence_hash: Sha256
    verdict_hash: Sha256
    model_hash: Sha256
    decided_by: Label
    decided_at: Instant
    reason: Label
    decision_hash: Sha256


class AliasMove(Frozen):
    """One change of the aliases of a model, with the state before and after it: verdict, approval and alias in one."""

    model_config = ConfigDict(strict=True)

    name: Name
    kind: Literal["promote", "rollback"]
    alias: PromotedAlias
    version: PositiveInt  # that has the alias from now on
    manifest_hash: Sha256  # of that version
    before: Aliases
    after: Aliases
    approval: GateReference  # of the version, for a rollback that of its own promotion
    by: Label  # who gave the command
    why: Label

    @model_validator(mode="after")
    def _does_what_it_says(self) -> Self:
        expected = (
            promoted(self.before, self.version, self.alias) if self.kind == "promote" else rolled_back(self.before)
        )
        if self.after != expected or self.after.of(self.alias) != self.version:
            raise ValueError(f"a {self.kind} of version {self.version} to {self.alias} gives other aliases: {expected}")
        return self


def check_alias(alias: str) -> PromotedAlias:
    """The alias, if a version can be promoted to it."""
    if alias == "champion":
        return "champion"
    if alias == "challenger":
        return "challenger"
    raise BadInput(
        f"alias {alias[:40]!r}; allowed: champion or challenger. `previous` is set when the champion changes, and"
        " `gaelp models rollback` returns to it"
    )


def promoted(before: Aliases, version: int, alias: PromotedAlias) -> Aliases:
    """The aliases after a promotion: the champion before it becomes `previous`; a challenger that wins is none now."""
    if alias == "challenger":
        return before.model_copy(update={"challenger": version})
    challenger = None if before.challenger == version else before.challenger
    previous = before.champion if before.champion not in (None, version) else before.previous
    return Aliases(champion=version, challenger=challenger, previous=None if previous == version else previous)


def rolled_back(before: Aliases) -> Aliases:
    """The aliases after a rollback: champion and previous change places, so a second one undoes the first."""
    if before.previous is None:
        raise Refused("there is no previous champion to return to: promote another version")
    challenger = None if before.challenger == before.previous else before.challenger
    return Aliases(champion=before.previous, challenger=challenger, previous=before.champion)
