"""The options of commands that need signatures or the list of approvers, and what they open."""

from pathlib import Path
from typing import Annotated

import typer

from gaelp.approvals import SigningKey, Trust, trusted_approvers
from gaelp.approvals.keys import load_key, needs_passphrase
from gaelp.approvals.trust import trust_place
from gaelp.authority.signatures import Signer
from gaelp.config.document import read_text
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.errors import BadInput

__all__ = [
    "KeyOption",
    "PassphraseFileOption",
    "ReasonOption",
    "RequestOption",
    "RequiredKeyOption",
    "TrustOption",
    "load_trusted",
    "open_key",
    "read_passphrase",
    "signer_from",
    "trust_path",
]

_KEY = typer.Option(
    "--key", metavar="FILE", help="Sign with this private key (`gaelp keys new` makes one).", show_default=False
)

KeyOption = Annotated[Path | None, _KEY]
RequiredKeyOption = Annotated[Path, _KEY]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; signed with the decision.", show_default=False)]
RequestOption = Annotated[
    bool,
    typer.Option(
        "--request",
        help="Without --key, where signatures are needed: store the request, so that others can sign it.",
        show_default=False,
    ),
]
TrustOption = Annotated[
    Path | None,
    typer.Option("--trust", help="The list of trusted approvers.", show_default="approvals.trust of the settings"),
]
PassphraseFileOption = Annotated[
    Path | None, typer.Option("--passphrase-file", help="Read the passphrase from the first line of this file.")
]


def signer_from(
    settings: Settings,
    key: Path | None,
    reason: str,
    passphrase_file: Path | None,
    trust_file: Path | None,
    *,
    asks: bool = False,
) -> Signer:
    """The person at the keyboard, as the options of a command describe them."""
    trusted = load_trusted(trust_file, settings)
    return Signer(trusted, None if key is None else open_key(key, passphrase_file), reason.strip(), asks)


def load_trusted(trust_file: Path | None, settings: Settings) -> Trust:
    """The list of trusted approvers; a file that was named must exist."""
    if trust_file is not None and not trust_file.exists():
        raise BadInput(f"--trust {trust_file}: there is no such file. Name the list that `gaelp keys trust` writes.")
    return trusted_approvers(settings, trust_path(trust_file, settings))


def trust_path(named: Path | None, settings: Settings) -> Path:
    """The file that holds the list: the one that was named, or that of the settings."""
    return absolute(named) if named else trust_place(settings)


def open_key(path: Path, passphrase_file: Path | None) -> SigningKey:
    """The private key in a file; its passphrase is read from a file or asked for, never from the command line."""
    passphrase = read_passphrase(passphrase_file) if passphrase_file else None
    if passphrase is None and needs_passphrase(absolute(path)):
        passphrase = str(typer.prompt(f"Passphrase of {path.name}", hide_input=True, err=True)).encode()
    return load_key(absolute(path), passphrase)


def read_passphrase(path: Path) -> bytes:
    """The first line of a file."""
    lines = read_text(absolute(path), error=BadInput).splitlines()
    if not lines or not lines[0]:
        raise BadInput(f"--passphrase-file {path}: its first line is empty. Write the passphrase there.")
    return lines[0].encode()
