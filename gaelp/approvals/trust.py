"""Who may approve: names, public keys, roles, and from when until when each is trusted. The list is data."""

import fcntl
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, field_validator, model_validator

from gaelp.approvals.field_types import Instant, PublicKeyHex
from gaelp.approvals.keys import PublicKeyFile, check_public_key
from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.names import Name, Slug
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.errors import BadInput, Refused

__all__ = ["AUDITOR", "Approver", "Trust", "change_trust", "load_trust", "trust_place"]

AUDITOR = "auditor"  # the role whose keys sign the heads of the audit log


class Approver(Frozen):
    """One key that is trusted to speak for one person."""

    name: Name
    public_key: PublicKeyHex
    roles: tuple[Slug, ...] = Field(min_length=1, max_length=20)
    added_at: Instant
    revoked_at: Instant | None = None

    @field_validator("public_key")
    @classmethod
    def _key_is_fit(cls, public_key: str) -> str:
        try:
            check_public_key(public_key)
        except Refused as problem:
            raise ValueError(str(problem)) from None
        return public_key

    @model_validator(mode="after")
    def _revoked_after_added(self) -> Self:
        if self.revoked_at is not None and self.revoked_at < self.added_at:
            raise ValueError(f"{self.name} is revoked before being added: give revoked_at after added_at")
        return self

    def trusted_at(self, instant: datetime) -> bool:
        """Whether the key spoke for its owner at that instant."""
        return self.added_at <= instant and (self.revoked_at is None or instant < self.revoked_at)


class Trust(Frozen):
    """Every key that is or was trusted; a revoked one stays, so that old approvals can still be verified."""

    approvers: tuple[Approver, ...] = Field(default=(), max_length=1000)

    @model_validator(mode="after")
    def _one_person_one_key(self) -> Self:
        # One key under two names would let one person be two pairs of eyes; so would names that differ in case alone.
        seen_keys: dict[str, str] = {}
        in_force: dict[str, str] = {}
        for entry in self.approvers:
            if entry.public_key in seen_keys:
                raise ValueError(
                    f"{entry.name} and {seen_keys[entry.public_key]} have the same key: each person makes their own"
                )
            seen_keys[entry.public_key] = entry.name
            if entry.revoked_at is None:
                folded = entry.name.casefold()
                if folded in in_force:
                    raise ValueError(
                        f"{entry.name} and {in_force[folded]} are one name with two keys in force: revoke one"
                    )
                in_force[folded] = entry.name
        return self

    def keys_of(self, name: str) -> Iterator[Approver]:
        """Every key that was ever trusted to speak for a name."""
        return (entry for entry in self.approvers if entry.name == name)

    def roles_of(self, name: str, at: datetime) -> frozenset[str]:
        """The roles a name has at an instant; none if it is not trusted then."""
        return frozenset(role for entry in self.keys_of(name) if entry.trusted_at(at) for role in entry.roles)

    def has_key_in_force(self, name: str) -> bool:
        """Whether a key of that name is trusted and not revoked."""
        return any(entry.revoked_at is None for entry in self.keys_of(name))

    def with_key(self, offered: PublicKeyFile, roles: tuple[str, ...], at: datetime) -> "Trust":
        """This list with one more key in force."""
        offered.check()
        for entry in self.approvers:
            if entry.public_key == offered.public_key:
                state = "trusted" if entry.revoked_at is None else "revoked"
                raise Refused(f"this key is {state} already, as that of {entry.name!r}: make a new key for a new entry")
            if entry.name.casefold() == offered.name.casefold() and entry.revoked_at is None:
                raise Refused(
                    f"{entry.name!r} has a key in force since {entry.added_at:%Y-%m-%d}; allowed: one at a time."
                    f" Revoke it first: `gaelp keys revoke {entry.name}`"
                )
        try:
            added = Approver(name=offered.name, public_key=offered.public_key, roles=roles, added_at=at)
        except ValidationError as problem:
            raise BadInput(f"roles {', '.join(roles)}: {problem.errors(include_url=False)[0]['msg']}") from None
        return Trust(approvers=(*self.approvers, added))

    def without(self, name: str, at: datetime) -> "Trust":
        """This list with the key of that name revoked from an instant on."""
        if not self.has_key_in_force(name):
            known = ", ".join(sorted({entry.name for entry in self.approvers if entry.revoked_at is None}))
            others = f"in force are those of {known}: name one of these" if known else "nobody has one"
            raise BadInput(f"{name!r} has no key in force; {others}")
        return Trust(
            approvers=tuple(
                Approver.model_validate({**entry.model_dump(), "revoked_at": at})
                if entry.name == name and entry.revoked_at is None
                else entry
                for entry in self.approvers
            )
        )


def trust_place(settings: Settings) -> Path:
    """Where the list is: the file that the settings name, or one below the home."""
    named = settings.approvals.trust
    return absolute(named) if named is not None else absolute(settings.home) / "approvers.yaml"


def load_trust(path: Path) -> Trust:
    """The list in a YAML or JSON file; a file that is not there trusts nobody."""
    return load_model(Trust, path) if path.exists() else Trust()


def change_trust(path: Path, change: Callable[[Trust], Trust]) -> Trust:
    """Read the list, change it and write it whole or not at all; two who do so at once go one after the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.held").open("w", encoding="ascii") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        changed = change(load_trust(path))
        write_models({path: changed})
    return changed
