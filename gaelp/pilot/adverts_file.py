"""The campaigns of a pilot on a real account: a YAML file names each logged campaign, its budget and its advert."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, PositiveInt, model_validator

from gaelp.config.base import Frozen
from gaelp.config.load import load_model
from gaelp.config.names import Name, Text, refuse_repeats
from gaelp.config.pilot_settings import DAILY_LEAST_MICROS, DAILY_MOST_MICROS, PilotSettings
from gaelp.content import Creative
from gaelp.errors import BadInput
from gaelp.market.calibration.segment_estimates import SegmentEstimates
from gaelp.pilot.campaign_names import pilot_campaign_name
from gaelp.pilot.logged_segments import LoggedCampaign, logged_campaign
from gaelp.pilot.pilot_plan import PilotCampaign

__all__ = ["AdvertsFile", "CampaignAdvert", "campaigns_from_file", "load_adverts"]

DailyMicros = Annotated[int, Field(ge=DAILY_LEAST_MICROS, le=DAILY_MOST_MICROS)]


class CampaignAdvert(Frozen):
    """One campaign of the pilot."""

    logged_as: Text = Field(description="the campaign of the history that it takes over")
    name: Name | None = Field(
        default=None, description="on the platform; none: made from the run's and the logged name"
    )
    daily_micros: DailyMicros | None = Field(default=None, description="none: pilot.daily_micros")
    conversion_value_micros: PositiveInt | None = Field(default=None, description="none: the mean of the history")
    keywords: dict[str, Text] = Field(
        default={},
        description="for each segment its keywords, separated by |; none: its name is the keyword",
    )
    creative: Creative


class AdvertsFile(Frozen):
    """All campaigns of a pilot; the currency is written down so that an amount is never read in another one."""

    currency: str = Field(pattern="^[A-Z]{3}$")
    campaigns: tuple[CampaignAdvert, ...]

    @model_validator(mode="after")
    def _each_campaign_once(self) -> Self:
        if not self.campaigns:
            raise ValueError("saw no campaign; allowed: 1 or more. Add those that take part.")
        refuse_repeats("logged campaign", [campaign.logged_as for campaign in self.campaigns])
        refuse_repeats("campaign", [campaign.name for campaign in self.campaigns if campaign.name])
        return self


def load_adverts(path_or_name: str | Path) -> AdvertsFile:
    """A file by path, or by its name in configs/pilot; ConfigError names file, line and key of what is wrong."""
    return load_model(AdvertsFile, path_or_name, "pilot")


def campaigns_from_file(
    pilot: str, file: AdvertsFile, settings: PilotSettings, currency: str, estimates: SegmentEstimates
) -> tuple[PilotCampaign, ...]:
    """The campaigns in the order of the file, as many as the settings ask for; `currency` is the account's."""
    if file.currency != currency:
        raise BadInput(
            f"the file with the adverts is in {file.currency}, the account is billed in {currency}: write its amounts"
            f" in {currency}"
        )
    if len(file.campaigns) < settings.campaigns:
        raise BadInput(
            f"pilot.campaigns={settings.campaigns}, and the file with the adverts has {len(file.campaigns)}: add"
            " campaigns there, or lower pilot.campaigns"
        )
    return tuple(_campaign(pilot, given, settings, estimates) for given in file.campaigns[: settings.campaigns])


def _campaign(pilot: str, given: CampaignAdvert, settings: PilotSettings, estimates: SegmentEstimates) -> PilotCampaign:
    logged = logged_campaign(estimates, given.logged_as)
    _check_advert(given)
    return PilotCampaign(
        name=given.name or pilot_campaign_name(pilot, given.logged_as),
        logged_as=given.logged_as,
        daily_micros=given.daily_micros or settings.daily_micros,
        conversion_value_micros=given.conversion_value_micros or logged.conversion_value_micros,
        targets=_targets(given, logged),
        reference_bids_micros=logged.usual_bids_micros,
        creative=given.creative,
    )


def _targets(given: CampaignAdvert, logged: LoggedCampaign) -> tuple[str, ...]:
    """One ad group for each segment, named after its keywords."""
    unknown = sorted(set(given.keywords) - set(logged.segments))
    missing = sorted(set(logged.segments) - set(given.keywords)) if given.keywords else []
    if unknown or missing:
        wrong = f"no segment of it is called {unknown[0]!r}" if unknown else f"its segment {missing[0]!r} is left out"
        raise BadInput(
            f"keywords of {given.logged_as!r}: {wrong}; allowed: each of {', '.join(logged.segments)} once. Correct the"
            " file with the adverts"
        )
    return tuple(given.keywords.get(segment, segment) for segment in logged.segments)


def _check_advert(given: CampaignAdvert) -> None:
    if not given.creative.landing_url:
        raise BadInput(
            f"the advert {given.creative.id} of {given.logged_as!r} has no landing_url: give the page that it leads to"
        )
