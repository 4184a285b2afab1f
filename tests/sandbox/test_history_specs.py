"""Which history and world the settings ask for."""

from datetime import timedelta

import pytest

from gaelp.config.history_settings import SynthesizedHistorySettings
from gaelp.sandbox.history_specs import history_end, history_specs
from gaelp.sandbox.incumbent import incumbent_campaigns, incumbent_products
from gaelp.sandbox.synthesis import synthesize


def test_history_and_world_have_the_seed_of_the_run_unless_the_history_names_one():
    for asked, seed in ((SynthesizedHistorySettings(), 9), (SynthesizedHistorySettings(seed=5), 5)):
        spec, world = history_specs(asked, 9)
        assert (spec.seed, world.seed) == (seed, seed)


@pytest.mark.parametrize("hours_later", [0, 5])
def test_the_history_ends_at_the_midnight_that_was_synthesized_last(hours_later):
    spec, world = history_specs(SynthesizedHistorySettings(weeks=1, campaigns=1), 3)
    later = world.model_copy(update={"start": world.start + timedelta(hours=hours_later)})
    made = synthesize(spec, later, simulator_points=False)
    assert history_end(spec, later) == made.instant(made.end_tick)


def test_products_are_known_by_the_names_of_the_campaigns():
    spec, world = history_specs(SynthesizedHistorySettings(campaigns=2), 3)
    made = incumbent_campaigns(spec, world, lambda product: [1_000_000] * 8)
    assert incumbent_products(spec, world) == {campaign.name: campaign.served.product for campaign in made}
