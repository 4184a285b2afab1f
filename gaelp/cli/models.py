"""`gaelp models`: list, show and export the registered versions of models, promote one, roll back."""

from typing import Annotated, Any

import typer

from gaelp.cli.options import ConfigOption, JsonOption, SetOption, same_settings
from gaelp.cli.output import say, show_json, show_paragraph, show_table, show_text
from gaelp.cli.startup import prepare_reading
from gaelp.clock import SystemClock
from gaelp.config.machine_user import machine_user
from gaelp.config.places import shown
from gaelp.config.settings import Settings
from gaelp.errors import BadInput
from gaelp.export.export_folder import read_export
from gaelp.export.parity import DECISIONS
from gaelp.export.policy_card import CARD
from gaelp.export.write_export import NETWORK_FILES, check_formats, export_version
from gaelp.phases.gate_answers import approvals_of_run
from gaelp.registry import ALIASES, DataWindow, Registry, Tampered, open_registry, restore_mlflow
from gaelp.registry.aliases import AliasMove, check_alias
from gaelp.registry.manifest import ModelManifest
from gaelp.registry.state import ModelState, RecordedVersion, RegistryState

__all__ = ["app", "export", "list_", "promote", "restore", "rollback", "show"]

app = typer.Typer(no_args_is_help=True, help="Models: signed versions, and which one is champion.")

NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="MODEL", help="The model, where there are several.", show_default="run.name"),
]
PromotionReasonOption = Annotated[str, typer.Option("--why", help="The reason, for whoever asks later.")]
PromotedByOption = Annotated[str | None, typer.Option("--who", help="Your name.", show_default="the user logged in")]


@app.command("list")
def list_(
    name: Annotated[str | None, typer.Option("--name", metavar="MODEL", help="Only this model.")] = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every version, with its aliases, the run it comes from and what the gates said.

    The record, the audit log and MLflow are compared first; the files of a version are checked by `gaelp models show`
    and whenever it is used.
    """
    _, state = _opened(prepare_reading(config, overrides).settings)
    models = [state.model(name)] if name else list(state.models.values())
    if as_json:
        show_json({"versions": [_summary(model, version) for model in models for version in model.versions]})
        return
    if not models:
        show_paragraph("No model is registered yet: a run registers its model after it has passed a gate.")
        return
    show_table(
        ("model", "version", "aliases", "run", "gates", "registered (UTC)"),
        [_row(model, version) for model in models for version in reversed(model.versions)],
    )
    say(f"`gaelp models show VERSION{same_settings(config, overrides)}` shows one, and checks its files.")


@app.command()
def show(
    version: Annotated[
        str, typer.Argument(metavar="[VERSION]", help="A number, champion, challenger or previous.")
    ] = "champion",
    name: NameOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the manifest of a version: verdicts, lineage, files with their hashes; and check all of it.

    - `gaelp models show 3`

    - `gaelp models show champion --json`

    Exit code 3 if a file, the manifest or the signature is not what was registered; the message names it.
    """
    settings = prepare_reading(config, overrides).settings
    registry, state = _opened(settings)
    model = _model(state, name, settings)
    chosen = _version(model, version)
    problem = _problem(registry, model, chosen)
    if as_json:
        manifest = chosen.manifest.model_dump(mode="json")
        about = {"aliases": model.aliases.named(chosen.manifest.version), "manifest_hash": chosen.manifest_hash}
        checked = {"verified": problem is None, "problem": problem and str(problem), "signature": chosen.signature}
        show_json({"manifest": manifest, **about, **checked, "moves": _moves(model, chosen)})
    else:
        _show_version(model, chosen)
        if problem is None:
            show_paragraph("Verified: every file, the manifest and its signature are what was registered.")
    if problem is not None:
        raise problem


@app.command()
def promote(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The run whose gate was approved; `gaelp runs` lists them.")
    ],
    why: PromotionReasonOption,
    alias: Annotated[str, typer.Option("--alias", help="champion or challenger.")] = "champion",
    who: PromotedByOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the model of a run champion (or challenger): its newest gate passed, and a person approved it.

    - `gaelp models promote 20261116-020641-7f3a9c --why "better in every segment"`

    Verdict and decision are those of the run, on exactly this model: nothing else can be given here. The champion
    before becomes `previous`. Exit code 3 if something is missing; the message says what.
    """
    settings = prepare_reading(config, overrides).settings
    registry, state = _opened(settings)
    wanted = check_alias(alias)
    manifest = state.of_run(run).manifest
    decisions = approvals_of_run(settings, run).decisions()
    move = registry.promote(manifest.name, manifest.version, wanted, decisions, by=who or machine_user(), why=why)
    _report(move, f"because {move.approval.decided_by} approved gate {move.approval.gate}", as_json=as_json)


@app.command()
def rollback(
    why: PromotionReasonOption,
    name: NameOption = None,
    who: PromotedByOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Return to the previous champion. It was approved before, so nobody has to sign; a second one undoes the first.

    - `gaelp models rollback --why "cost per conversion doubled since Monday"`

    Exit code 3 if there is no previous champion, or if its files are not what was registered.
    """
    settings = prepare_reading(config, overrides).settings
    registry, state = _opened(settings)
    model = _model(state, name, settings)
    move = registry.rollback(model.name, by=who or machine_user(), why=why)
    _report(move, f"again; version {move.after.previous} is `previous` now", as_json=as_json)


@app.command()
def export(
    version: Annotated[
        str, typer.Argument(metavar="[VERSION]", help="A number, champion, challenger or previous.")
    ] = "champion",
    name: NameOption = None,
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="onnx or torchscript; both if none is given.")
    ] = None,
    decisions: Annotated[
        int, typer.Option("--decisions", min=100, max=10_000_000, help="How many to compare for each format.")
    ] = DECISIONS,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a version for serving: network as ONNX and TorchScript, rule, features, policy card; checked on its bids.

    - `gaelp models export`

    - `gaelp models export 3 --format onnx`

    Each format has to bid as the model does, within 1e-5 of the bid or one micro, or nothing is written (exit code 3).
    """
    settings = prepare_reading(config, overrides).settings
    registry, state = _opened(settings)
    model = _model(state, name, settings)
    number = _version(model, version).manifest.version
    folder = export_version(
        settings,
        registry,
        model.name,
        number,
        clock=SystemClock(),
        formats=check_formats(formats or tuple(NETWORK_FILES)),
        decisions=decisions,
    )
    manifest = read_export(folder, state.public_key or "").manifest
    if as_json:
        show_json({"folder": str(folder), **manifest.model_dump(mode="json", include={"parity", "files", "rule"})})
        return
    rows = [
        (each.format, f"{each.decisions:,}", f"{each.different_bids:,}", f"{each.largest_difference_micros:,}")
        for each in manifest.parity
    ]
    show_table(("format", "decisions compared", "bids that differ", "largest difference, micros"), rows)
    show_paragraph(f"Version {number} of {model.name} is exported to {shown(folder)}; {CARD} there is for people.")


@app.command()
def restore(
    why: PromotionReasonOption,
    who: PromotedByOption = None,
    config: ConfigOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write MLflow's model registry again from the signed record, after somebody changed it there.

    - `gaelp models restore --why "an alias was moved in the UI of MLflow"`

    Nothing else is restored: files and records come from a backup (docs/models.md).
    """
    settings = prepare_reading(config, overrides).settings
    names = restore_mlflow(settings, SystemClock(), by=who or machine_user(), why=why)
    if as_json:
        show_json({"restored": list(names)})
    else:
        show_paragraph(
            f"MLflow shows {', '.join(names) or 'no model'} as recorded. The audit log says who asked for it."
        )


def _opened(settings: Settings) -> tuple[Registry, RegistryState]:
    registry = open_registry(settings)
    if registry.finished:
        say(f"A change that was interrupted was finished: {'; '.join(registry.finished)}.")
    return registry, registry.check()


def _model(state: RegistryState, name: str | None, settings: Settings) -> ModelState:
    """The model that was named, else that of the settings, else the only one."""
    if name is None and settings.run.name not in state.models and len(state.models) == 1:
        return next(iter(state.models.values()))
    if name is None and len(state.models) > 1 and settings.run.name not in state.models:
        raise BadInput(f"there are several models: {', '.join(sorted(state.models))}. Choose one with --name")
    return state.model(name or settings.run.name)


def _version(model: ModelState, text: str) -> RecordedVersion:
    if text.isdecimal():
        return model.version(int(text[:9]))
    for alias in ALIASES:
        if text == alias:
            number = model.aliases.of(alias)
            if number is None:
                raise BadInput(
                    f"no version of {model.name} is {alias} yet; there are 1 to {len(model.versions)}: name one of them"
                )
            return model.version(number)
    raise BadInput(f"version {text[:40]!r}; allowed: a number, {', '.join(ALIASES)}")


def _problem(registry: Registry, model: ModelState, version: RecordedVersion) -> Tampered | None:
    number = version.manifest.version
    try:
        registry.verify(model.name, number)
        for alias in model.aliases.named(number):
            registry.holder(model.name, alias)  # checks the approval, too
    except Tampered as problem:
        return problem
    return None


def _summary(model: ModelState, version: RecordedVersion) -> dict[str, Any]:
    manifest = version.manifest
    return {
        "model": manifest.name,
        "version": manifest.version,
        "aliases": model.aliases.named(manifest.version),
        "run": manifest.lineage.run_id,
        "parent": manifest.lineage.parent,
        "agent": manifest.agent,
        "model_hash": manifest.model_hash,
        "manifest_hash": version.manifest_hash,
        "gates": {verdict.gate: verdict.outcome for verdict in manifest.verdicts},
        "registered_at": manifest.registered_at.isoformat(),
    }


def _row(model: ModelState, version: RecordedVersion) -> tuple[str, ...]:
    manifest = version.manifest
    return (
        manifest.name,
        str(manifest.version),
        ", ".join(model.aliases.named(manifest.version)),
        manifest.lineage.run_id,
        ", ".join(f"{verdict.gate} {verdict.outcome}" for verdict in manifest.verdicts),
        f"{manifest.registered_at:%Y-%m-%d %H:%M}",
    )


def _moves(model: ModelState, version: RecordedVersion) -> list[dict[str, Any]]:
    return [
        {"at": moved.record.at, **moved.move.model_dump(mode="json")}
        for moved in model.moves
        if moved.move.version == version.manifest.version
    ]


def _show_version(model: ModelState, version: RecordedVersion) -> None:
    manifest = version.manifest
    aliases = ", ".join(model.aliases.named(manifest.version)) or "no alias"
    show_text(f"{manifest.name} version {manifest.version}: {aliases}\n")
    show_table(("field", "value"), _facts(manifest))
    show_text("")
    show_table(
        ("gate", "verdict", "judged (UTC)", "code"),
        [
            (verdict.gate, verdict.outcome, f"{verdict.judged_at:%Y-%m-%d %H:%M}", verdict.evidence_hash[:8])
            for verdict in manifest.verdicts
        ],
    )
    show_text("")
    show_table(("metric", "value"), [(name, f"{value:.6g}") for name, value in manifest.figures.items()])
    show_text("")
    show_table(
        ("file", "bytes", "sha256"), [(file.path, f"{file.size_bytes:,}", file.sha256) for file in manifest.files]
    )
    show_text("")
    for moved in model.moves:
        if moved.move.version == manifest.version:
            show_paragraph(
                f"{moved.record.recorded_at:%Y-%m-%d %H:%M} UTC: {moved.move.kind} to {moved.move.alias} by"
                f" {moved.move.by} ({moved.move.why}); gate {moved.move.approval.gate} approved by"
                f" {moved.move.approval.decided_by} ({moved.move.approval.reason})"
            )


def _facts(manifest: ModelManifest) -> list[tuple[str, str]]:
    packages = [f"{name} {text or 'not installed'}" for name, text in manifest.packages.items()]
    return [
        ("agent", manifest.agent if manifest.learned else f"{manifest.agent} (a tuned rule)"),
        ("model hash", manifest.model_hash),
        ("run", f"{manifest.lineage.run_id}, attempt {manifest.lineage.attempt}"),
        ("parent", f"version {manifest.lineage.parent}" if manifest.lineage.parent else "none"),
        ("registered (UTC)", f"{manifest.registered_at:%Y-%m-%d %H:%M}"),
        ("config hash", manifest.config_hash),
        ("features", manifest.feature_version),
        ("source", f"{manifest.commit or 'unknown'}{' with changes' if manifest.dirty else ''}"),
        ("packages", ", ".join(packages)),
        *(("data", f"{window.name}: {window.source}{_dates(window)}") for window in manifest.data_windows),
    ]


def _dates(window: DataWindow) -> str:
    if window.begin is None or window.end is None:
        return ""
    return f", {window.begin:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC"


def _report(move: AliasMove, reason: str, *, as_json: bool) -> None:
    if as_json:
        show_json(move.model_dump(mode="json"))
    else:
        show_paragraph(f"Version {move.version} of {move.name} is {move.alias}, {reason}.")
