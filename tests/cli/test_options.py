import shlex

from gaelp.cli.options import as_typed, same_settings


def test_an_advised_command_repeats_the_settings_as_they_were_typed():
    overrides = ["run.name=two words", "run.seed=7"]
    assert shlex.split(same_settings("my.yaml", overrides)) == [
        *("--config", "my.yaml"),
        *("--set", "run.name=two words"),
        *("--set", "run.seed=7"),
    ]
    assert as_typed("cal", None, ["run.seed=7"]) == ["cal", "--set", "run.seed=7"]


def test_without_settings_nothing_is_added():
    assert same_settings(None, None) == ""
