"""An export as a policy that bids: GAELP's rule and features around the network that was exported."""

from collections.abc import Callable

import torch

from gaelp.errors import DataError
from gaelp.export.export_manifest import ExportManifest
from gaelp.export.network_files import ActOn
from gaelp.market.baselines.bids import Bidder
from gaelp.market.baselines.catalog import CATALOG
from gaelp.phases.agent_registration import feature_version
from gaelp.training.price_level_rule import PriceLevelRule
from gaelp.training.recipe import NO_RULE
from gaelp.training.segment_policy import SegmentPolicy

__all__ = ["policy_maker"]


def policy_maker(manifest: ExportManifest, act_on: ActOn | None) -> Callable[[], Bidder]:
    """Return what builds the policy, each with a memory of its own; `act_on` is None for a rule alone.

    DataError if this release computes other features than the network was trained with.
    """
    if manifest.learned and manifest.feature_version != feature_version():
        raise DataError(
            f"version {manifest.version} of {manifest.name} reads features {manifest.feature_version}, this release"
            f" computes {feature_version()}: serve it with the release that exported it, or train again"
        )
    rule = _rule_maker(manifest)
    rule()  # fail now if its parameters are of another release
    if act_on is None:
        return rule
    return lambda: SegmentPolicy(manifest.agent, rule(), manifest.residual, torch.no_grad()(act_on))


def _rule_maker(manifest: ExportManifest) -> Callable[[], Bidder]:
    if manifest.rule == NO_RULE:
        return PriceLevelRule
    for kind in CATALOG:
        if kind.key == manifest.rule:
            return lambda: kind.build(manifest.rule_parameters)
    known = ", ".join(kind.key for kind in CATALOG)
    raise DataError(f"the export is around the rule {manifest.rule!r}; this release has {known}: export it again")
