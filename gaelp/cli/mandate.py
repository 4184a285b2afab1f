"""`gaelp mandate`: propose, sign, list, show and revoke what an agent may order without a new signature each time."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gaelp.approvals import ApprovalStore, Mandate, describe_mandate
from gaelp.authority.audit_records import open_approvals
from gaelp.authority.mandates import (
    MandateStatus,
    find_mandate,
    mandate_statuses,
    propose_mandate,
    revoke_mandate,
    sign_mandate,
)
from gaelp.authority.requests import existing_approvals
from gaelp.bootstrap import open_books
from gaelp.budget.ledger import Ledger
from gaelp.cli.options import ConfigOption, JsonOption, SetOption, same_settings
from gaelp.cli.output import say, show_json, show_table, show_text
from gaelp.cli.signing import KeyOption, PassphraseFileOption, ReasonOption, TrustOption, load_trusted, signer_from
from gaelp.cli.startup import prepare_reading
from gaelp.config import load_model
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.guard_bootstrap import platform_world

__all__ = ["app", "list_", "propose", "revoke", "show", "sign"]

app = typer.Typer(
    no_args_is_help=True, help="Mandates: what an agent may order and bid without a new signature each time."
)

_DIGITS = 12

MandateArgument = Annotated[
    str, typer.Argument(metavar="MANDATE", help="Its id, or the first digits, as `gaelp mandate list` shows it.")
]


@app.command()
def propose(
    file: Annotated[Path, typer.Argument(help="The mandate as YAML or JSON; docs/mandate.md has an example.")],
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask people to sign a mandate, and show what they would sign.

    - `gaelp mandate propose pilot.yaml`
    """
    settings = prepare_reading(config, overrides).settings
    if not file.exists():
        raise BadInput(f"{file}: there is no such file. Name the mandate to propose.")
    mandate = load_model(Mandate, absolute(file))
    world = platform_world(settings)
    with closing(open_books(settings)) as ledger:
        store = open_approvals(settings)
        proposed = propose_mandate(settings, ledger, store, mandate, world, load_trusted(trust_file, settings))
    if as_json:
        show_json({"mandate": proposed, "world": world})
        return
    show_text("\n".join(describe_mandate(mandate, world)))
    settings_again = same_settings(config, overrides)
    say(f"To sign it: `gaelp mandate sign {proposed[:_DIGITS]} --key FILE --reason WHY{settings_again}`")


@app.command()
def sign(
    mandate: MandateArgument,
    key: KeyOption = None,
    reason: ReasonOption = "",
    passphrase_file: PassphraseFileOption = None,
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sign a mandate; the last signature that the policy asks for puts it in force.

    - `gaelp mandate sign 3f9a0c41d2b7 --key ~/.config/gaelp/keys/ann.key --reason "as planned for November"`
    """
    settings = prepare_reading(config, overrides).settings
    signer = signer_from(settings, key, reason, passphrase_file, trust_file)
    with _opened(settings) as (ledger, store):
        action, signed = find_mandate(store, mandate)
        if not as_json:
            show_text("\n".join(describe_mandate(signed, action.world)))
        opened = sign_mandate(settings, ledger, store, mandate, signer)
    if as_json:
        show_json({"mandate": mandate, "in_force": True, "new": opened})
    else:
        show_text(f"The mandate {signed.name} {'is' if opened else 'was already'} in force.")


@app.command("list")
def list_(
    trust_file: TrustOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every mandate with its state and what is left of it."""
    settings = prepare_reading(config, overrides).settings
    with _opened(settings) as (ledger, store):
        rows = [
            _row(status) for status in mandate_statuses(settings, ledger, store, load_trusted(trust_file, settings))
        ]
    if as_json:
        show_json({"mandates": rows})
    elif rows:
        show_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
    else:
        show_text("There are no mandates.")


@app.command()
def show(mandate: MandateArgument, config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Show what a mandate allows, in words and as the JSON that is signed."""
    settings = prepare_reading(config, overrides).settings
    action, signed = find_mandate(existing_approvals(settings), mandate)
    say("\n".join(describe_mandate(signed, action.world)))
    show_json(action.model_dump(mode="json"))


@app.command()
def revoke(
    mandate: MandateArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the audit log.")] = "revoked by hand",
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a mandate at once, for good; no signature is needed.

    - `gaelp mandate revoke 3f9a0c41d2b7 --reason "the campaign is over"`

    No order or bid passes under it any more. What runs is paused by the safety watch, or now with `gaelp ledger
    reconcile`.
    """
    settings = prepare_reading(config, overrides).settings
    with _opened(settings) as (ledger, store):
        ended = revoke_mandate(ledger, store, mandate, reason.strip() or "revoked by hand")
    if as_json:
        show_json({"mandate": ended, "state": "revoked"})
    else:
        show_text(f"The mandate {ended[:_DIGITS]} is revoked. Running campaigns: `gaelp ledger reconcile` pauses them.")


@contextmanager
def _opened(settings: Settings) -> Iterator[tuple[Ledger, ApprovalStore]]:
    with closing(open_books(settings)) as ledger:
        yield ledger, existing_approvals(settings)


def _row(status: MandateStatus) -> dict[str, str]:
    use, mandate = status.use, status.mandate
    return {
        "mandate": status.id[:_DIGITS],
        "name": mandate.name,
        "state": status.state,
        "until": mandate.last_day.isoformat(),
        "total": str(mandate.money(mandate.total_micros)),
        "reserved": str(use.reserved) if use else "",
        "spent": str(use.spent) if use else "",
        "signed_by": ", ".join(status.signed_by) or "nobody",
    }
