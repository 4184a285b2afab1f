import json

from gaelp.config import load_settings


def test_show_gives_value_and_origin_of_every_key(gaelp):
    result = gaelp(
        "config", "show", "--config", "quick-test", "--origin", "--json", "--set", "run.seed=5", GAELP_HOME="h"
    )
    shown = json.loads(result.stdout)
    loaded = load_settings("quick-test", environ={"GAELP_HOME": "h"}, overrides=["run.seed=5"])
    assert shown["hash"] == loaded.hash
    assert shown["values"].keys() == loaded.values.keys()
    assert all(entry.keys() == {"value", "origin"} for entry in shown["values"].values())
    assert shown["values"]["run.seed"] == {"value": 5, "origin": "override: --set"}
    assert shown["values"]["home"] == {"value": "h", "origin": "environment: GAELP_HOME"}
    assert shown["values"]["run.name"]["origin"].startswith("config: ")
    assert "quick-test.yaml:" in shown["values"]["run.name"]["origin"]
    assert shown["values"]["logging.level"]["origin"].startswith("base: ")


def test_show_without_origin_gives_values_alone(gaelp):
    shown = json.loads(gaelp("config", "show", "--json").stdout)
    assert shown["values"]["run.seed"] == {"value": load_settings(environ={}).settings.run.seed}


def test_the_table_holds_every_key_unfolded_and_the_hash_goes_to_stderr(gaelp):
    result = gaelp("config", "show", "--origin", "--set", "run.name=" + "x" * 60)
    loaded = load_settings(environ={})
    assert all(key in result.stdout for key in loaded.values)
    assert "x" * 60 in result.stdout
    assert "hash " in result.stderr
    assert "hash " not in result.stdout


def test_the_hash_survives_reordering_and_changes_with_a_value(here, gaelp):
    def shown_hash(text):
        (here / "my.yaml").write_text(text)
        return json.loads(gaelp("config", "show", "--config", "my.yaml", "--json").stdout)["hash"]

    first = shown_hash("run:\n  seed: 3\n  name: a\nevaluation:\n  episodes: 9\n")
    assert first == shown_hash("evaluation: {episodes: 9}\n\n# reordered\nrun: {name: 'a', seed: 3}\n")
    assert first != shown_hash("run:\n  seed: 4\n  name: a\nevaluation:\n  episodes: 9\n")
