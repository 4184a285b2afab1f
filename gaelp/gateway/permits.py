"""Where traffic may go: to versions with an alias, which a passed verdict and a person's approval allow."""

from gaelp.errors import Refused
from gaelp.registry import ALIASES, Registry, VerifiedVersion

__all__ = ["permitted_version", "shadow_version"]


def permitted_version(registry: Registry, name: str, version: int) -> VerifiedVersion:
    """The version, checked, if it may bid; Refused says what is missing."""
    aliases = registry.check().model(name).aliases
    for alias in ALIASES:
        if aliases.of(alias) == version and (held := registry.holder(name, alias)) is not None:
            return held
    raise Refused(
        f"version {version} of {name} is neither {', '.join(ALIASES[:-1])} nor {ALIASES[-1]}: traffic goes only where a"
        " stored verdict that passed and a person's approval allow an alias. Promote it with"
        " `gaelp models promote RUN --alias challenger`, or let it watch as a shadow"
    )


def shadow_version(registry: Registry, name: str, version: int) -> VerifiedVersion:
    """The version, checked, if it may decide without spending: it was registered after a verdict that passed."""
    verified = registry.verify(name, version)
    if not any(verdict.outcome == "pass" for verdict in verified.manifest.verdicts):
        raise Refused(f"{verified.text} passed no gate: nothing is loaded. Register one that passed")
    return verified
