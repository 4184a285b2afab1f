"""Every way to get a configuration wrong that we know: exit 2, file and key in the message, nothing written."""

import pytest

LLM = "personas:\n  llm:\n    endpoint: http://h\n    model: m\n"

BROKEN = {
    "empty": ("", "my.yaml is empty"),
    "only-a-comment": ("# run: {seed: 1}\n", "my.yaml is empty"),
    "open-bracket": ("run: [1,\n", "my.yaml:2"),
    "open-quote": ("run: {name: 'abc}\n", "not valid YAML"),
    "tab-for-indentation": ("run:\n\tseed: 1\n", "my.yaml:2"),
    "not-utf-8": (b"run: {name: \xff}\n", "not UTF-8"),
    "control-character": (b"run: {name: a\x01}\n", "not valid YAML"),
    "list-at-the-top": ("- run\n", "my.yaml:1: saw a list"),
    "text-at-the-top": ("run\n", "my.yaml:1: saw a single value"),
    "two-documents": ("run: {seed: 1}\n---\nrun: {seed: 2}\n", "my.yaml:2: a second document"),
    "too-deep": ("run: " + "[" * 500, "nested deeper"),
    "unknown-section": ("runn:\n  seed: 1\n", "my.yaml:1: runn: unknown key"),
    "unknown-key": (
        "run:\n  sede: 1\n",
        "run.sede: unknown key; allowed here: name, seed, until. Did you mean run.seed?",
    ),
    "key-in-the-wrong-section": ("seed: 1\n", "my.yaml:1: seed: unknown key"),
    "unknown-key-far-down": ("personas:\n  llm:\n    modle: x\n", "my.yaml:3: personas.llm.modle: unknown key"),
    "text-for-a-number": (
        "run:\n  seed: seven\n",
        "my.yaml:2: run.seed: saw 'seven'; allowed: a whole number at least 0 and",
    ),
    "quoted-number": ("run:\n  seed: '7'\n", "my.yaml:2: run.seed: saw '7'"),
    "number-for-text": ("market:\n  name: 3\n", "my.yaml:2: market.name: saw 3; allowed: text"),
    "truth-for-a-number": ("evaluation:\n  episodes: true\n", "my.yaml:2: evaluation.episodes: saw true"),
    "fraction-for-a-count": ("evaluation:\n  episodes: 1.5\n", "my.yaml:2: evaluation.episodes: saw 1.5"),
    "null-for-a-number": ("evaluation:\n  episodes:\n", "my.yaml:2: evaluation.episodes: saw null"),
    "nan": ("evaluation:\n  episodes: .nan\n", "my.yaml:2: evaluation.episodes: saw nan"),
    "infinity": (LLM + "    timeout_seconds: .inf\n", "my.yaml:5: personas.llm.timeout_seconds: saw inf"),
    "negative": ("evaluation:\n  episodes: -5\n", "my.yaml:2: evaluation.episodes: saw -5; allowed: from 2"),
    "zero": ("evaluation:\n  episodes: 0\n", "my.yaml:2: evaluation.episodes: saw 0"),
    "too-large": (
        "run:\n  seed: 99999999999\n",
        "my.yaml:2: run.seed: saw 99999999999; allowed: at least 0 and less than",
    ),
    "not-among-the-choices": ("logging:\n  level: inof\n", "logging.level: saw 'inof'; allowed: 'debug', 'info'"),
    "list-for-a-mapping": ("run:\n- seed\n", "my.yaml:1: run: saw a list of 1; allowed: a mapping"),
    "mapping-for-a-value": ("run:\n  seed: {a: 1}\n", "my.yaml:2: run.seed: saw a mapping of 1 keys"),
    "empty-section": ("run:\n", "my.yaml:1: run: saw null"),
    "key-given-twice": ("run:\n  seed: 1\n  seed: 2\n", "my.yaml:3: run.seed: key given twice, first on line 2"),
    "section-given-twice": ("run: {seed: 1}\nrun: {seed: 2}\n", "my.yaml:2: run: key given twice"),
    "alias": ("run: {seed: &s 1}\nevaluation: {seed: *s}\n", "my.yaml:2: evaluation.seed: saw a YAML alias"),
    "tag": ("run: {seed: !!int 1}\n", "my.yaml:1: run.seed: saw a YAML tag"),
    "name-that-leaves-its-folder": (
        "run: {name: ../../etc}\n",
        "my.yaml:1: run.name: saw '../../etc'; allowed: 1 to 64 of the letters",
    ),
    "too-few-episodes-to-compare": (
        "evaluation: {episodes: 1}\n",
        "my.yaml:1: evaluation.episodes: saw 1; allowed: from 2 to 1000000",
    ),
    "secret": (LLM + "    api_key: sk-planted\n", "my.yaml:5: personas.llm.api_key: saw a secret"),
    "password-in-an-address": (
        LLM.replace("//h", "//u:sk-planted@h"),
        "my.yaml:3: personas.llm.endpoint: the endpoint must hold no user",
    ),
    "half-a-section": ("personas:\n  llm: {model: m}\n", "my.yaml:2: personas.llm.endpoint: required key is missing"),
    "market-that-is-not-there": (
        "market:\n  name: calm-sea\n",
        "my.yaml:2: market.name: 'calm-sea' not found; searched",
    ),
    "personas-that-are-not-there": (
        "personas: {set: nobody}\n",
        "my.yaml:1: personas.set: 'nobody' not found; searched",
    ),
    "market-with-the-suffix-of-its-file": ("market: {name: cal.yaml}\n", "Did you mean cal?"),
    "personas-where-other-files-are": ("personas: {set: nobody}\n", "Known names: personas."),
    "market-that-is-no-market": (
        "market: {name: ./my.yaml}\n",
        "my.yaml:1: market.name: my.yaml has none of the expected keys",
    ),
    "empty-home": ("home: ''\n", "my.yaml:1: home: saw ''"),
    "home-is-a-file": ("home: my.yaml\n", "home: 'my.yaml' cannot be written"),
    "home-below-a-file": ("home: my.yaml/below\n", "home: 'my.yaml/below' cannot be written"),
    "home-where-nothing-can-be": ("home: /proc/gaelp\n", "home: '/proc/gaelp' cannot be written"),
}


MARKETS = {
    "spread-that-crashed": ("price: {segment_log_sd: 500}", "price.segment_log_sd: saw 500; allowed: from 0 to 2"),
    "noise-that-gave-no-reward": (
        "price: {hourly_noise_sd: 30}",
        "price.hourly_noise_sd: saw 30; allowed: from 0 to 1",
    ),
    "volume-beyond-counting": ("volume: {per_hour: 1e7}", "volume.per_hour: saw 10000000.0; allowed: from 0.001 to 5"),
    "price-beyond-money": (
        "price: {level_micros: 99999999999999}",
        "saw 99999999999999; allowed: greater than 0 and at",
    ),
    "overflow-together": ("volume: {per_hour: 50000, segment_log_sd: 1.5}", "opportunities in 3 days; allowed:"),
    "ranges-at-odds": ("randomise: {budget.share_low: [0.1, 0.9]}", "randomise.budget.share_low[1]: a campaign could"),
    "range-beyond-its-key": (
        "randomise: {rivals.depth: [0, 40]}",
        "randomise.rivals.depth[1]: saw 40; allowed: from 0",
    ),
}


def write(folder, content):
    (folder / "my.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())


def assert_refused(exit_code, stdout, stderr, words):
    assert exit_code == 2
    assert words in stderr
    assert stdout == ""
    assert "Traceback" not in stderr
    assert "sk-planted" not in stderr


def test_there_are_at_least_twenty_broken_configs():
    assert len(BROKEN) >= 20


@pytest.mark.parametrize(("content", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_config_exits_2_and_names_file_and_key(here, gaelp, content, words):
    write(here, content)
    result = gaelp("config", "check", "my.yaml", "--json")
    assert_refused(result.exit_code, result.stdout, result.stderr, words)
    assert [path.name for path in here.iterdir()] == ["my.yaml"]


@pytest.mark.parametrize(("line", "words"), MARKETS.values(), ids=MARKETS)
def test_a_market_that_could_not_be_played_exits_2_and_names_file_key_and_range(here, gaelp, line, words):
    (here / "m.yaml").write_text(f"name: m\n{line}\n")
    result = gaelp("config", "check", "--set", "market.name=m.yaml")
    assert_refused(result.exit_code, result.stdout, result.stderr, words)
    assert "m.yaml:2" in result.stderr


@pytest.mark.parametrize("name", ["../../../escaped", "x/y", "'a: b'"])
def test_a_market_named_like_a_path_exits_2_and_says_what_a_name_is(here, gaelp, name):
    (here / "m.yaml").write_text(f"name: {name}\n")
    result = gaelp("config", "check", "--set", "market.name=m.yaml")
    assert_refused(result.exit_code, result.stdout, result.stderr, "m.yaml:1: name: saw ")
    assert "allowed: 1 to 64 of the letters" in result.stderr


@pytest.mark.parametrize("case", ["unknown-key", "secret"])
def test_the_same_holds_in_a_process_of_its_own(here, gaelp_process, case):
    content, words = BROKEN[case]
    write(here, content)
    done = gaelp_process("-m", "gaelp.cli", "config", "check", "my.yaml")
    assert_refused(done.returncode, done.stdout, done.stderr, words)
    assert [path.name for path in here.iterdir()] == ["my.yaml"]


@pytest.mark.parametrize("name", ["not-there.yaml", "folder/not-there.yaml", "nothing", "folder", "folder.yaml", ""])
def test_a_config_that_is_not_there_exits_2_and_says_what_was_searched(here, gaelp, name):
    (here / "folder.yaml").mkdir()
    for command in ("check", "show"):
        args = ("config", command, *(("--config",) if command == "show" else ()), name)
        result = gaelp(*args)
        assert_refused(result.exit_code, result.stdout, result.stderr, name)


@pytest.mark.parametrize("variable", ["GAELP__RUN__SEDE", "GAELP__RUN__SEED", "GAELP__NOTHING", "GAELP__"])
def test_a_wrong_variable_exits_2_and_is_named(here, gaelp, variable):
    result = gaelp("config", "show", **{variable: "x"})
    assert_refused(result.exit_code, result.stdout, result.stderr, variable)


@pytest.mark.parametrize("override", ["run.sede=1", "run.seed=x", "run.seed", "=3", "run=3"])
def test_a_wrong_override_exits_2_and_is_named(here, gaelp, override):
    result = gaelp("config", "show", "--set", override)
    assert_refused(result.exit_code, result.stdout, result.stderr, "--set")
