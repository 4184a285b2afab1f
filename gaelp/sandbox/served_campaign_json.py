"""A ServedCampaign as JSON and back: what the world stores of each change of serving."""

import json

from pydantic import TypeAdapter

from gaelp.sandbox.serving import ManualBids, MaximizeConversions, ServedCampaign, TargetCpa, TargetRoas

__all__ = ["campaign_from_json", "campaign_to_json"]

# The fields of a strategy do not say which one it is: two have none.
_STRATEGIES = {kind.__name__: TypeAdapter(kind) for kind in (ManualBids, MaximizeConversions, TargetCpa, TargetRoas)}
_campaign = TypeAdapter(ServedCampaign)


def campaign_to_json(campaign: ServedCampaign) -> str:
    """The strategy's name and the campaign, in one line; equal campaigns give equal text."""
    return f'["{type(campaign.strategy).__name__}",{_campaign.dump_json(campaign).decode()}]'


def campaign_from_json(text: str) -> ServedCampaign:
    """The campaign that was stored."""
    strategy, values = json.loads(text)
    return _campaign.validate_python(values | {"strategy": _STRATEGIES[strategy].validate_python(values["strategy"])})
