"""What phase 4 reports of transfer: the agent of a bundle beside the rules, with the figures that gate 4 reads."""

from gaelp.clock import SystemClock
from gaelp.config.scale_settings import TransferSettings
from gaelp.phases.agent_bundle import learned_state, load_bundle, write_bundle
from gaelp.phases.scale_transfer import transfer_of_bundle, transfer_table


def test_the_agent_of_a_bundle_is_played_on_other_products(tmp_path, history_home):
    settings = history_home.settings_of(tmp_path / "home")
    few = settings.scale.model_copy(update={"transfer": TransferSettings(products=2, campaigns=8)})
    settings = settings.model_copy(update={"scale": few})
    write_bundle(settings, history_home.trained(settings, "r"), tmp_path / "agent")
    assert learned_state(tmp_path / "agent", load_bundle(tmp_path / "agent", settings)) is None  # a rule
    stages = []
    result = transfer_of_bundle(settings, tmp_path / "agent", seed=3, clock=SystemClock(), on_report=stages.append)
    assert set(result.metrics) == {
        "transfer_gain_share",
        "transfer_gain_share_lower_95",
        "transfer_gain_share_upper_95",
        "transfer_observations",
    }
    assert [(stage.done, stage.total) for stage in stages] == [(1, 3), (2, 3), (3, 3)]
    table = transfer_table(result)
    assert table.rows[0][0] == result.agent
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.below
