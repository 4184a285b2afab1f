"""`gaelp keys`: make a key pair, and keep the list of those who may approve."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from gaelp.approvals import SigningKey, Trust
from gaelp.approvals.keys import PublicKeyFile, load_key, needs_passphrase, new_key, save_key
from gaelp.approvals.trust import load_trust, trust_place
from gaelp.authority.trust_changes import change_trusted
from gaelp.cli.options import ConfigOption, JsonOption, SetOption
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.startup import prepare
from gaelp.config import load_model, require_home
from gaelp.config.document import read_text
from gaelp.config.places import absolute, shown
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.errors import BadInput, Refused

__all__ = ["TrustOption", "app", "list_keys", "load_trusted", "new", "open_key", "revoke", "trust"]

KEY_FOLDER = "~/.config/gaelp/keys"
PASSPHRASE_LENGTH_MIN = 12

app = typer.Typer(no_args_is_help=True, help="Keys of those who approve.")

TrustOption = Annotated[
    Path | None,
    typer.Option("--trust", help="The list of trusted approvers.", show_default="approvals.trust of the settings"),
]
PassphraseFileOption = Annotated[
    Path | None, typer.Option("--passphrase-file", help="Read the passphrase from the first line of this file.")
]


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
    """Make an Ed25519 key pair: NAME.key for yourself alone, NAME.pub.json to hand on.

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
    say(f"To be trusted, hand on {shown(public)}: `gaelp keys trust {shown(public)} --role ROLE`")


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
    rows = (
        (entry.name, ", ".join(entry.roles), _day(entry.added_at), _day(entry.revoked_at), entry.public_key)
        for entry in trusted.approvers
    )
    show_table(("name", "roles", "added", "revoked", "public key"), rows)


@app.command("trust")
def trust(
    public_key_file: Annotated[Path, typer.Argument(help="NAME.pub.json, as `gaelp keys new` wrote it.")],
    roles: Annotated[list[str], typer.Option("--role", help="What the person decides on; may be repeated.")],
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the owner of a key approve from now on; the audit log keeps it.

    **Example**: `gaelp keys trust ann.pub.json --role finance`
    """
    settings = prepare(config, overrides).settings
    if not public_key_file.exists():
        raise BadInput(f"{public_key_file}: there is no such file. Name the NAME.pub.json that `gaelp keys new` wrote.")
    offered = load_model(PublicKeyFile, absolute(public_key_file))
    body = {"name": offered.name, "public_key": offered.public_key, "roles": roles}
    place = _trust_file(trust_file, settings)
    changed = change_trusted(
        settings, place, "trust.added", body, lambda trusted, at: trusted.with_key(offered, tuple(roles), at)
    )
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
    """Refuse everything signed with someone's key from now on; what was used before stays verifiable.

    **Example**: `gaelp keys revoke ann`
    """
    settings = prepare(config, overrides).settings
    changed = change_trusted(
        settings,
        _trust_file(trust_file, settings),
        "trust.revoked",
        {"name": name},
        lambda trusted, at: trusted.without(name, at),
    )
    _report(changed, f"{name} may not approve from now on.", as_json=as_json)


def load_trusted(trust_file: Path | None, settings: Settings) -> Trust:
    """The list of trusted approvers; one that was named must be there."""
    if trust_file is not None and not trust_file.exists():
        raise BadInput(f"--trust {trust_file}: there is no such file. Name the list that `gaelp keys trust` writes.")
    return load_trust(_trust_file(trust_file, settings))


def _trust_file(named: Path | None, settings: Settings) -> Path:
    return absolute(named) if named else trust_place(settings)


def open_key(path: Path, passphrase_file: Path | None) -> SigningKey:
    """The private key in a file; its passphrase comes from a file or is asked for, and never from the command line."""
    passphrase = _from_file(passphrase_file) if passphrase_file else None
    if passphrase is None and needs_passphrase(absolute(path)):
        passphrase = str(typer.prompt(f"Passphrase of {path.name}", hide_input=True, err=True)).encode()
    return load_key(absolute(path), passphrase)


def _report(changed: Trust, text: str, *, as_json: bool) -> None:
    if as_json:
        show_json(changed.model_dump(mode="json"))
    else:
        show_text(text)


def _new_passphrase(file: Path | None, *, no_passphrase: bool, name: str) -> bytes | None:
    if file and no_passphrase:
        raise BadInput("--passphrase-file and --no-passphrase are both given; allowed: one of them")
    if no_passphrase:
        return None
    if file:
        phrase = _from_file(file)
    else:
        prompt = f"Passphrase for the key of {name}"
        phrase = str(typer.prompt(prompt, hide_input=True, confirmation_prompt=True, err=True)).encode()
    if len(phrase) < PASSPHRASE_LENGTH_MIN:
        raise BadInput(
            f"the passphrase has {len(phrase)} characters; allowed: {PASSPHRASE_LENGTH_MIN} or more. Take a longer one."
        )
    return phrase


def _from_file(path: Path) -> bytes:
    lines = read_text(absolute(path), error=BadInput).splitlines()
    if not lines or not lines[0]:
        raise BadInput(f"--passphrase-file {path}: its first line is empty. Write the passphrase there.")
    return lines[0].encode()


def _day(instant: datetime | None) -> str:
    return f"{instant:%Y-%m-%d}" if instant else ""
