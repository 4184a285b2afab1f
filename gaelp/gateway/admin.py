"""Load versions and move traffic: each checked against the registry, each replaced as a whole while requests run."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gaelp.clock import Clock
from gaelp.config.places import absolute
from gaelp.config.settings import Settings
from gaelp.config.write import write_models
from gaelp.errors import BadInput, GaelpError, Refused
from gaelp.export.export_folder import CheckedExport, export_place, read_export
from gaelp.export.exported_policy import policy_maker
from gaelp.export.network_files import run_onnx
from gaelp.export.write_export import NETWORK_FILES
from gaelp.gateway.decider import Decider, Serving
from gaelp.gateway.loaded_version import LoadedVersion
from gaelp.gateway.permits import permitted_version, shadow_version
from gaelp.gateway.shadow_record import ShadowTraffic
from gaelp.gateway.traffic import Traffic
from gaelp.gateway.wire import Sizes
from gaelp.market.build import build_market, configured_personas
from gaelp.market.market import seeds_from
from gaelp.market.view import Brief
from gaelp.observability import get_logger
from gaelp.registry import open_registry

__all__ = ["Admin", "Loader", "gateway_folder", "load_from_registry", "template_of"]

log = get_logger(__name__)

Loader = Callable[
    [int, bool], CheckedExport
]  # version, whether it is to bid; raises where the registry does not allow it


def gateway_folder(settings: Settings) -> Path:
    """Where a gateway keeps its traffic and what its shadows decided."""
    return absolute(settings.home) / "gateway"


def load_from_registry(settings: Settings, clock: Clock) -> Loader:
    """Return what reads a version's export, after the registry and the record of decisions were checked."""

    def load(version: int, bids: bool) -> CheckedExport:
        registry, name = open_registry(settings, clock), settings.run.name
        verified = (permitted_version if bids else shadow_version)(registry, name, version)
        export = read_export(export_place(settings, name, version), registry.check().public_key or "")
        if export.manifest.manifest_hash != verified.manifest_hash:
            raise Refused(f"the export is of another {verified.text}: run `gaelp models export {version}` again")
        return export

    return load


def template_of(settings: Settings, export: CheckedExport) -> Brief:
    """A brief of the market that a version was trained in: its tables are shared by all campaigns."""
    market = build_market(export.manifest.market, configured_personas(settings), export.manifest.objective)
    market.reset(seeds_from(0, 1))
    return market.brief


@dataclass(slots=True)
class Admin:
    """What operators do with one gateway; calls may run in any thread, one at a time."""

    settings: Settings
    decider: Decider
    load: Loader
    kept: Path  # where the traffic is kept over a restart
    shadow: ShadowTraffic

    def add(self, version: int) -> dict[str, Any]:
        """Load a version, so that traffic or shadow may name it; one that is loaded is loaded again."""
        export = self.load(version, False)
        brief = template_of(self.settings, export)
        book = self.decider.book
        given = Sizes(brief.segments, brief.creatives, len(brief.persona_traits))
        if given != book.sizes:
            raise BadInput(
                f"version {version} decides for {given}, this gateway for {book.sizes}: start another one for it"
            )
        network = export.files.get(NETWORK_FILES["onnx"])
        if export.manifest.learned and network is None:
            raise BadInput(f"version {version} was exported without ONNX: run `gaelp models export {version}` again")
        build = policy_maker(export.manifest, None if network is None else run_onnx(network))
        loaded = LoadedVersion(version, build, brief)
        self._place(loaded)
        log.info("a version is loaded", version=version, model_hash=export.manifest.model_hash)
        return self.describe(version, export)

    def describe(self, version: int, export: CheckedExport) -> dict[str, Any]:
        """What was loaded."""
        manifest = export.manifest
        return {
            "id": version,
            "agent": manifest.agent,
            "rule": manifest.rule,
            "model_hash": manifest.model_hash,
            "feature_version": manifest.feature_version,
            "parity": [parity.model_dump() for parity in manifest.parity],
        }

    def move(self, traffic: Traffic) -> dict[str, Any]:
        """Let these versions decide from the next batch on; Refused where verdict or approval is missing."""
        serving = self.decider.serving
        for version in (*traffic.shares, *traffic.shadow):
            if version not in serving.versions:
                raise BadInput(f"version {version} is not loaded: POST /admin/models with it first")
            self.load(version, version in traffic.shares)
        before = serving.traffic.versions if serving.traffic else ()
        earlier = tuple(dict.fromkeys((*before, *serving.earlier)))
        kept = tuple(version for version in earlier if version not in traffic.shares)
        write_models({self.kept: traffic})
        self.decider.serving = replace(serving, traffic=traffic, earlier=kept)
        self.decider.metrics.show_traffic(dict(traffic.shares))
        log.warning("traffic was moved", shares=traffic.shares, shadow=traffic.shadow, why=traffic.why)
        return self.now()

    def resume(self) -> None:
        """After a restart: load what had traffic and give it back, as far as it is still allowed."""
        if not self.kept.is_file():
            return
        traffic = Traffic.model_validate_json(self.kept.read_bytes())
        try:
            for version in (*traffic.shares, *traffic.shadow):
                self.add(version)
            self.move(traffic)
        except GaelpError as problem:
            log.exception("the traffic before the restart is not allowed any more", problem=str(problem))

    def shadow_figures(self, version: int) -> dict[str, Any]:
        """How a shadow's bids compare with those given out."""
        return {
            "shadow_mean_log_ratio": self.shadow.mean_log_ratio(version),
            "shadow_rows_dropped": self.shadow.dropped,
        }

    def now(self) -> dict[str, Any]:
        """Traffic and versions as they are."""
        serving = self.decider.serving
        return {
            "traffic": serving.traffic.model_dump() if serving.traffic else None,
            "loaded": sorted(serving.versions),
            "stand_in": list(serving.earlier),
        }

    def _place(self, loaded: LoadedVersion) -> None:
        serving = self.decider.serving
        versions = {**serving.versions, loaded.number: loaded}
        traffic = serving.traffic
        needed = {loaded.number, *(traffic.shares if traffic else ()), *(traffic.shadow if traffic else ())}
        needed.update(serving.earlier[:1])
        for number in [each for each in serving.versions if each not in needed]:
            if len(versions) > self.settings.gateway.max_versions:
                versions.pop(number)
        if len(versions) > self.settings.gateway.max_versions:
            raise Refused(f"{len(serving.versions)} versions are loaded and all are used; take traffic off one first")
        earlier = tuple(number for number in serving.earlier if number in versions)
        self.decider.serving = Serving(versions, traffic, earlier)
