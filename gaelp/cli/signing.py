"""The options of a command that needs signatures, and the signer they describe."""

from pathlib import Path
from typing import Annotated

import typer

from gaelp.authority.signatures import Signer
from gaelp.cli.keys import PassphraseFileOption, TrustOption, load_trusted, open_key
from gaelp.config.settings import Settings

__all__ = ["KeyOption", "PassphraseFileOption", "ReasonOption", "TrustOption", "signer_from"]

KeyOption = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="Approve it with this private key.", show_default=False)
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; signed with the approval.")]


def signer_from(
    settings: Settings, key: Path | None, reason: str, passphrase_file: Path | None, trust_file: Path | None
) -> Signer:
    """Whoever is at the keyboard, as the options of a command say."""
    trusted = load_trusted(trust_file, settings)
    return Signer(trusted, None if key is None else open_key(key, passphrase_file), reason.strip())
