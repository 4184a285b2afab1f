"""`gaelp keys`: make a key pair, and maintain the list of those who may approve."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from gaelp.approvals import Trust
from gaelp.approvals.keys import PublicKeyFile, new_key, save_key
from gaelp.approvals.revocations import names_trusted_elsewhere
from gaelp.authority.trust_changes import revoke_key, trust_key
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_paragraph, show_table, show_text
from gaelp.cli.signing import (
    PassphraseFileOption,
    TrustOption,
    load_trusted,
    open_key,
    read_passphrase,
    trust_path,
)
from gaelp.cli.startup import prepare
from gaelp.config import load_model, require_home
from gaelp.config.places import absolute, shown
from gaelp.config.write import write_models
from gaelp.errors import BadInput, Refused

__all__ = ["PassphraseFileOption", "app", "list_keys", "new", "open_key", "revoke", "trust"]

KEY_FOLDER = "~/.config/gaelp/keys"
PASSPHRASE_LENGTH_MIN = 12

app = typer.Typer(no_args_is_help=True, help="Keys of the people who approve.")


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="Whose key it is; approvals carry this name.")],
    out: Annotated[Path | None, typer.Option("--out", help="The folder for the key.", show_default=KEY_FOLDER)] = None,
    passphrase_file: PassphraseFileOption = None,
    no_passphrase: Annotated[
        bool, typer.Option("--no-passphrase", help="Store the key as it is.", show_default=False)
    ] = False,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make an Ed25519 key pair: NAME.key for yourself alone, NAME.pub.json to pass on.

    **Examples**

    - `gaelp keys new ann`

    - `gaelp keys new ci --out /run/secrets/gaelp --passphrase-file phrase.txt`

    You are asked for a passphrase unless a file or `--no-passphrase` is given. A key that exists is never replaced.
    """
    home = absolute(prepare(config, overrides).settings.home)
    folder = absolute(out or KEY_FOLDER)
    if folder.resolve().is_relative_to(home.resolve()):
        raise Refused(
            f"--out {shown(folder)} lies below {shown(home)}, which every run may read: keep private keys elsewhere"
        )
    key = new_key(name)
    private, public = folder / f"{name}.key", folder / f"{name}.pub.json"
    save_key(key, private, _new_passphrase(passphrase_file, no_passphrase=no_passphrase, name=name))
    write_models({public: PublicKeyFile.of(key)})
    if as_json:
        files = {"private_key_file": str(private), "public_key_file": str(public)}
        show_json({"name": name, "public_key": key.public_key, **files})
        return
    show_text(f"{name} {key.public_key}")
    say(f"Private key: {shown(private)}. Keep it to yourself.")
    say(f"To be trusted, pass on {shown(public)}: `gaelp keys trust {shown(public)} --role ROLE`")


@app.command("list")
def list_keys(
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show everyone who is or was trusted to approve."""
    loaded = prepare(config, overrides)
    if trust_file is None and loaded.settings.approvals.trust is None:
        require_home(loaded)  # which holds the list
    trusted = load_trusted(trust_file, loaded.settings)
    if as_json:
        show_json(trusted.model_dump(mode="json"))
        return
    rows = [
        (entry.name, ", ".join(entry.roles), _day(entry.added_at), _day(entry.revoked_at), entry.public_key)
        for entry in trusted.approvers
    ]
    if not rows:
        show_paragraph("This list trusts nobody yet: `gaelp keys trust FILE --role ROLE` adds a person.")
    else:
        show_table(("name", "roles", "added", "revoked", "public key"), rows)
    if elsewhere := names_trusted_elsewhere(loaded.settings, trusted):
        say(
            f"Not in this list, but in another one that shares the audit log: {', '.join(elsewhere)}. They count here"
            " once `gaelp keys trust` adds their key here."
        )


@app.command("trust")
def trust(
    public_key_file: Annotated[Path, typer.Argument(help="NAME.pub.json, as `gaelp keys new` wrote it.")],
    roles: Annotated[
        list[str],
        typer.Option("--role", help="A role that the approval policy knows, such as finance; may be repeated."),
    ],
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the owner of a key approve from now on; recorded in the audit log.

    **Example**: `gaelp keys trust ann.pub.json --role finance`
    """
    settings = prepare(config, overrides).settings
    if not public_key_file.exists():
        raise BadInput(f"{public_key_file}: there is no such file. Name the NAME.pub.json that `gaelp keys new` wrote.")
    if public_key_file.suffix == ".key":
        raise BadInput(f"{public_key_file} is a private key: give its public part, which ends in .pub.json")
    offered = load_model(PublicKeyFile, absolute(public_key_file))
    changed = trust_key(settings, trust_path(trust_file, settings), offered, tuple(roles))
    _report(
        changed,
        f"{offered.name} is trusted from now on, as {', '.join(roles)}: signatures count where a policy asks for that.",
        as_json=as_json,
    )


@app.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Who may not approve any more.")],
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Refuse what is signed with someone's key from now on, on every machine that shares the audit log.

    **Example**: `gaelp keys revoke ann`

    What was used before stays verifiable. A revoked key is never trusted again: make a new one.
    """
    settings = prepare(config, overrides).settings
    changed = revoke_key(settings, trust_path(trust_file, settings), name)
    _report(changed, f"{name} may not approve from now on.", as_json=as_json)


def _report(changed: Trust, text: str, *, as_json: bool) -> None:
    if as_json:
        show_json(changed.model_dump(mode="json"))
    else:
        show_paragraph(text)


def _new_passphrase(file: Path | None, *, no_passphrase: bool, name: str) -> bytes | None:
    if file and no_passphrase:
        raise BadInput("--passphrase-file and --no-passphrase are both given; allowed: one of them")
    if no_passphrase:
        return None
    if file:
        phrase = read_passphrase(file)
    else:
        prompt = f"Passphrase for the key of {name}"
        phrase = str(typer.prompt(prompt, hide_input=True, confirmation_prompt=True, err=True)).encode()
    if len(phrase) < PASSPHRASE_LENGTH_MIN:
        raise BadInput(
            f"the passphrase has {len(phrase)} characters; allowed: {PASSPHRASE_LENGTH_MIN} or more. Take a longer one."
        )
    return phrase


def _day(instant: datetime | None) -> str:
    return f"{instant:%Y-%m-%d}" if instant else ""
