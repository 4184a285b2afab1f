"""The campaigns of a pilot on the local ad platform: those of the synthesized history, with adverts for their pages."""

from collections.abc import Sequence
from dataclasses import replace

from gaelp.config.history_settings import SynthesizedHistorySettings
from gaelp.config.pilot_settings import PilotSettings
from gaelp.content import Audience, Creative
from gaelp.errors import BadInput
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.pilot.campaign_names import pilot_campaign_name
from gaelp.pilot.logged_segments import by_evidence, logged_campaign
from gaelp.pilot.own_campaigns import OwnCampaign
from gaelp.pilot.pilot_plan import PilotCampaign
from gaelp.sandbox.history_specs import history_specs
from gaelp.sandbox.incumbent import incumbent_products

__all__ = ["local_campaigns", "local_creative", "own_campaigns", "with_room"]

_ROOM = 4.0  # times the logged budgets, of which each campaign would spend two and a half at most
_NO_BUDGET_MICROS = 10_000_000_000  # for a day, where the log names no budget: more than any of these campaigns spends
_CENT_MICROS = 10_000
_ADVERTISER = "local-shops"  # configs/content/brands/local-shops.yaml


def local_campaigns(
    pilot: str,
    settings: PilotSettings,
    history: SynthesizedHistorySettings,
    run_seed: int,
    estimates: SegmentEstimates,
) -> tuple[PilotCampaign, ...]:
    """As many campaigns as the settings ask for, those with the most data first; `pilot` names the pilot."""
    if settings.campaigns > len(estimates.campaign_names):
        raise BadInput(
            f"pilot.campaigns={settings.campaigns}, and the history has {len(estimates.campaign_names)} campaigns that"
            " can be estimated: lower it, or raise history.synthesize.campaigns"
        )
    products = incumbent_products(*history_specs(history, run_seed))
    campaigns = []
    for name in by_evidence(estimates)[: settings.campaigns]:
        if name not in products:
            raise BadInput(
                f"the logged campaign {name!r} is none of the synthesized history, so the local ad platform does not"
                " sell its product: set pilot.local=false, or use the history that history.synthesize describes"
            )
        logged = logged_campaign(estimates, name)
        campaigns.append(
            PilotCampaign(
                name=pilot_campaign_name(pilot, name),
                logged_as=name,
                daily_micros=settings.daily_micros,
                conversion_value_micros=logged.conversion_value_micros,
                targets=logged.segments,
                reference_bids_micros=logged.usual_bids_micros,
                creative=local_creative(products[name]),
            )
        )
    return tuple(campaigns)


def with_room(estimates: SegmentEstimates) -> SegmentEstimates:
    """The same account with budgets that last: how a platform spreads one that does not is no matter of inputs."""
    return replace(estimates, daily_budget_micros=estimates.daily_budget_micros * _ROOM)


def own_campaigns(campaigns: Sequence[PilotCampaign], estimates: SegmentEstimates) -> tuple[OwnCampaign, ...]:
    """The advertiser's own counterparts, as logged: the same products and usual bids, with these budgets."""
    budgets = dict(zip(estimates.campaign_names, estimates.daily_budget_micros.tolist(), strict=True))
    return tuple(
        OwnCampaign(
            name=campaign.logged_as,
            daily_micros=round(min(budgets[campaign.logged_as], _NO_BUDGET_MICROS) / _CENT_MICROS) * _CENT_MICROS,
            targets=campaign.targets,
            bids_micros=campaign.reference_bids_micros,
            creative=campaign.creative,
        )
        for campaign in campaigns
    )


def local_creative(product: str) -> Creative:
    """An advert for a product, such as shop-01.example/offers, that passes the content check."""
    host = product.partition("/")[0]
    shop = host.partition(".")[0].replace("-", " ")
    return Creative(
        id=f"{host}-1",
        advertiser=_ADVERTISER,
        headline=f"Offers of {shop}",
        description="New offers every week, delivered to your door. Send back what does not fit.",
        call_to_action="See the offers",
        display_url=host,
        landing_url=f"https://{product}",
        landing_text="All offers of the week with prices and delivery times. Send back what does not fit.",
        language="en",
        audience=Audience(min_age=18),
    )
