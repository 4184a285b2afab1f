import pytest


@pytest.mark.parametrize("command", ["train", "run", "up"])
def test_what_starts_a_run_refuses_a_name_that_does_not_exist_before_it_does_anything(gaelp, here, command):
    result = gaelp(command, "--set", "approvals.policy=nowhere")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: --set: approvals.policy: 'nowhere' not found; searched: ")
    assert list(here.iterdir()) == []
