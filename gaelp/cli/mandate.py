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
    why_sign_later,
)
from gaelp.authority.requests import existing_approvals, has_approvals
from gaelp.bootstrap import kill_switch
from gaelp.budget.ledger import Ledger
from gaelp.cli.options import ConfigOption, JsonOption, SetOption, same_settings
from gaelp.cli.output import say, show_json, show_paragraph, show_table, show_text
from gaelp.cli.signing import KeyOption, PassphraseFileOption, ReasonOption, TrustOption, load_trusted, signer_from
from gaelp.cli.startup import prepare_reading
from gaelp.config import load_model
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.guard_bootstrap import open_platform_books, platform_world

__all__ = ["app", "list_", "propose", "revoke", "show", "sign"]

app = typer.Typer(
    no_args_is_help=True, help="Mandates: what an agent may order and bid without a new signature each time."
)

_DIGITS = 12
_INDENT = "  "  # of the second line of a sentence

_COLUMNS = ("mandate", "name", "state", "until", "total", "reserved", "spent", "signed_by")
# What revoking a mandate changes, by its state before.
_EFFECTS = {
    "in force": "is revoked. Campaigns that run under it: `gaelp ledger reconcile` pauses them",
    "ended": "had ended before; now it is revoked as well",
    "proposed": "never was in force, so nothing runs under it. It is withdrawn: nobody can sign it any more",
    "revoked": "was revoked before; nothing changes",
}

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
    with closing(open_platform_books(settings)) as ledger:
        store = open_approvals(settings)
        proposed, rejections = propose_mandate(
            settings, ledger, store, mandate, world, load_trusted(trust_file, settings)
        )
    if as_json:
        show_json({"mandate": proposed, "world": world})
        return
    show_paragraph("\n".join(describe_mandate(mandate, world)), _INDENT)
    show_text(f"Its id: {proposed[:_DIGITS]}")
    if rejections:
        say(f"{rejections}.")
    if later := why_sign_later(kill_switch(settings).state()):
        say(f"Spending is stopped, so nobody can sign yet. {later}.")
    if not settings.platform.name:
        say("It is one for the sandbox because the settings name no ad platform (platform.name).")
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
            show_paragraph("\n".join(describe_mandate(signed, action.world)), _INDENT)
        opened = sign_mandate(
            settings,
            ledger,
            store,
            mandate,
            signer,
            stop=kill_switch(settings).state(),
            options=same_settings(config, overrides),
        )
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
    rows = []
    if has_approvals(settings):
        with _opened(settings) as (ledger, store):
            trusted = load_trusted(trust_file, settings)
            rows = [_row(status) for status in mandate_statuses(settings, ledger, store, trusted)]
    if as_json:
        show_json({"mandates": rows})
    elif rows:
        show_table(
            [name.replace("_", " ") for name in _COLUMNS], [[row[column] for column in _COLUMNS] for row in rows]
        )
        for row in rows:
            if row["why"]:
                show_paragraph(f"{row['mandate']}: {row['why']}.", _INDENT)
    else:
        show_text("There are no mandates: `gaelp mandate propose FILE` proposes one.")


@app.command()
def show(mandate: MandateArgument, config: ConfigOption = None, overrides: SetOption = None) -> None:
    """Show what a mandate allows, in words and as the JSON that is signed."""
    settings = prepare_reading(config, overrides).settings
    action, signed = find_mandate(existing_approvals(settings), mandate)
    say("\n".join(describe_mandate(signed, action.world)), _INDENT)
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
        revoked = revoke_mandate(ledger, store, mandate, reason.strip() or "revoked by hand")
    if as_json:
        show_json({"mandate": revoked.id, "state": "revoked", "before": revoked.before})
    else:
        show_paragraph(f"The mandate {revoked.name} ({revoked.id[:_DIGITS]}) {_EFFECTS[revoked.before]}.")


@contextmanager
def _opened(settings: Settings) -> Iterator[tuple[Ledger, ApprovalStore]]:
    with closing(open_platform_books(settings)) as ledger:
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
        "why": status.why,
    }
