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
    "unknown-key": ("run:\n  sede: 1\n", "run.sede: unknown key; allowed here: name, seed. Did you mean run.seed?"),
    "key-in-the-wrong-section": ("seed: 1\n", "my.yaml:1: seed: unknown key"),
    "unknown-key-far-down": ("personas:\n  llm:\n    modle: x\n", "my.yaml:3: personas.llm.modle: unknown key"),
    "text-for-a-number": ("run:\n  seed: seven\n", "my.yaml:2: run.seed: saw 'seven'; allowed: a valid integer"),
    "quoted-number": ("run:\n  seed: '7'\n", "my.yaml:2: run.seed: saw '7'"),
    "number-for-text": ("market:\n  name: 3\n", "my.yaml:2: market.name: saw 3; allowed: a valid string"),
    "truth-for-a-number": ("market:\n  campaigns: true\n", "my.yaml:2: market.campaigns: saw true"),
    "fraction-for-a-count": ("market:\n  campaigns: 1.5\n", "my.yaml:2: market.campaigns: saw 1.5"),
    "null-for-a-number": ("market:\n  campaigns:\n", "my.yaml:2: market.campaigns: saw null"),
    "nan": ("evaluation:\n  episodes: .nan\n", "my.yaml:2: evaluation.episodes: saw nan"),
    "infinity": (LLM + "    timeout_seconds: .inf\n", "my.yaml:5: personas.llm.timeout_seconds: saw inf"),
    "negative": ("market:\n  campaigns: -5\n", "my.yaml:2: market.campaigns: saw -5; allowed: greater than 0"),
    "zero": ("evaluation:\n  episodes: 0\n", "my.yaml:2: evaluation.episodes: saw 0"),
    "too-large": ("run:\n  seed: 99999999999\n", "my.yaml:2: run.seed: saw 99999999999; allowed: less than"),
    "not-among-the-choices": ("logging:\n  level: inof\n", "logging.level: saw 'inof'; allowed: 'debug', 'info'"),
    "list-for-a-mapping": ("run:\n- seed\n", "my.yaml:1: run: saw a list of 1; allowed: a mapping"),
    "mapping-for-a-value": ("run:\n  seed: {a: 1}\n", "my.yaml:2: run.seed: saw a mapping of 1 keys"),
    "empty-section": ("run:\n", "my.yaml:1: run: saw null"),
    "key-given-twice": ("run:\n  seed: 1\n  seed: 2\n", "my.yaml:3: run.seed: key given twice, first on line 2"),
    "section-given-twice": ("run: {seed: 1}\nrun: {seed: 2}\n", "my.yaml:2: run: key given twice"),
    "alias": ("run: {seed: &s 1}\nevaluation: {seed: *s}\n", "my.yaml:2: evaluation.seed: saw a YAML alias"),
    "tag": ("run: {seed: !!int 1}\n", "my.yaml:1: run.seed: saw a YAML tag"),
    "name-that-leaves-its-folder": ("run: {name: ../../etc}\n", "my.yaml:1: run.name: saw '../../etc'"),
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
    "market-that-is-no-market": ("market: {name: ./my.yaml}\n", "my.yaml:1: market.name: 2 problems"),
    "empty-home": ("home: ''\n", "my.yaml:1: home: saw ''"),
    "home-is-a-file": ("home: my.yaml\n", "home: 'my.yaml' cannot be written"),
    "home-below-a-file": ("home: my.yaml/below\n", "home: 'my.yaml/below' cannot be written"),
    "home-where-nothing-can-be": ("home: /proc/gaelp\n", "home: '/proc/gaelp' cannot be written"),
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
