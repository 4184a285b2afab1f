from typing import Annotated, Literal

import pytest
from pydantic import Field, PositiveInt, SecretStr, model_validator

from gaelp.config import Frozen, load_model
from gaelp.errors import ConfigError, DataError


class Part(Frozen):
    name: str
    weight: float = 1.0


class Round(Frozen):
    kind: Literal["round"]
    radius: float


class Square(Frozen):
    kind: Literal["square"]
    side: float


class Thing(Frozen):
    name: str
    count: PositiveInt = 1
    colour: Literal["red", "green"] = "red"
    parts: tuple[Part, ...] = ()
    shape: Annotated[Round | Square, Field(discriminator="kind")] | None = None
    by_hour: dict[int, float] = Field(default_factory=dict)
    token: SecretStr | None = None
    pair: tuple[float, float] = (0, 1)
    three: tuple[Annotated[float, Field(ge=0, le=5)], ...] = Field(default=(0, 0, 0), min_length=3, max_length=3)
    short: str = Field(default="x", min_length=1, max_length=4)
    open: bool = False

    @model_validator(mode="after")
    def _name_differs_from_parts(self):
        if any(part.name == self.name for part in self.parts):
            raise ValueError(f"name={self.name} is also a part: rename one")
        return self


def load(folder, text, **arguments):
    (folder / "thing.yaml").write_text(text)
    return load_model(Thing, "./thing.yaml", **arguments)


def problems(folder, text):
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return str(caught.value)


def test_a_file_becomes_its_model(here):
    thing = load(here, "name: a\nparts:\n- {name: b, weight: 2}\nshape: {kind: round, radius: 1}\nby_hour: {7: 0.5}\n")
    assert thing == Thing(
        name="a", parts=(Part(name="b", weight=2),), shape=Round(kind="round", radius=1), by_hour={7: 0.5}
    )


def test_a_name_is_found_in_the_named_folder_of_configs(here):
    (here / "configs" / "things").mkdir(parents=True)
    (here / "configs" / "things" / "mine.yaml").write_text("name: a\n")
    assert load_model(Thing, "mine", "things").name == "a"
    assert load_model(Thing, "mine", here / "configs" / "things").name == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\ncont: 3\n", "thing.yaml:2: cont: unknown key; allowed here: name, count, colour, parts, shape,"),
        ("name: a\ncont: 3\n", "Did you mean count?"),
        ("name: a\nweight: 3\n", "thing.yaml:2: weight: unknown key"),
        ("name: a\ncount: 0\n", "thing.yaml:2: count: saw 0; allowed: greater than 0."),
        ("name: a\ncount: true\n", "thing.yaml:2: count: saw true; allowed: a whole number greater than 0."),
        ("name: a\ncount: '3'\n", "thing.yaml:2: count: saw '3'; allowed: a whole number greater than 0."),
        ("name: a\ncount: 3.0\n", "thing.yaml:2: count: saw 3.0; allowed: a whole number greater than 0."),
        ("name: 7\n", "thing.yaml:1: name: saw 7; allowed: text (in quotes if it looks like a number)."),
        ("name:\n", "thing.yaml:1: name: saw null; allowed: text (in quotes if it looks like a number)."),
        ("count: 3\n", "thing.yaml:1: name: required key is missing. Add it."),
        ("name: a\ncolour: grean\n", "colour: saw 'grean'; allowed: 'red' or 'green'. Did you mean green?"),
        ("name: a\nparts: 3\n", "thing.yaml:2: parts: saw 3; allowed: a list."),
        (
            "name: a\nparts:\n- name: b\n- 4\n",
            "thing.yaml:4: parts[1]: saw 4; allowed: a mapping with the keys name, weight.",
        ),
        (
            "name: a\nparts:\n- name: b\n  wieght: 4\n",
            "thing.yaml:4: parts[0].wieght: unknown key; allowed here: name, weight. Did",
        ),
        (
            "name: a\nparts:\n- name: b\n  weight: .nan\n",
            "thing.yaml:4: parts[0].weight: saw nan; allowed: a finite number.",
        ),
        ("name: a\nparts:\n- name: b\n  weight: -.inf\n", "saw -inf; allowed: a finite number."),
        ("name: a\nparts:\n- name: a\n", "thing.yaml:1: name=a is also a part: rename one"),
        (
            "name: a\nshape: {kind: oval}\n",
            "shape: saw a mapping of 1 keys; allowed: a mapping whose kind is one of 'round', 'square'.",
        ),
        ("name: a\nshape: {radius: 1}\n", "allowed: a mapping whose kind is one of the known kinds."),
        (
            "name: a\npair: [1]\n",
            "thing.yaml:2: pair[1]: saw a list of 1; allowed: one more entry, in place 2. Add it.",
        ),
        ("name: a\npair: [1, 2, 3]\n", "thing.yaml:2: pair: saw a list of 3; allowed: at most 2 entries."),
        ("name: a\nthree: [1, 2]\n", "thing.yaml:2: three: saw a list of 2; allowed: exactly 3 entries."),
        ("name: a\nthree: [1, 2, 3, 4]\n", "thing.yaml:2: three: saw a list of 4; allowed: exactly 3 entries."),
        ("name: a\nthree: [1, 2, 9]\n", "thing.yaml:2: three[2]: saw 9; allowed: from 0 to 5."),
        ("name: a\nshort: ''\n", "thing.yaml:2: short: saw ''; allowed: 1 to 4 characters."),
        ("name: a\nshort: abcde\n", "thing.yaml:2: short: saw 'abcde'; allowed: 1 to 4 characters."),
        ("name: a\nopen: yes\n", "thing.yaml:2: open: saw 'yes'; allowed: true or false."),
        ("name: a\nshape:\n  kind: square\n  sid: 2\n", "thing.yaml:4: shape.sid: unknown key"),
        ("name: a\nshape:\n  kind: square\n", "thing.yaml:2: shape.side: required key is missing"),
        ("name: a\nby_hour: {x: 1}\n", "thing.yaml:2: by_hour.x: saw 1; allowed: a whole number."),
    ],
)
def test_a_wrong_file_is_told_with_line_key_sight_and_limit(here, text, message):
    told = problems(here, text)
    assert message in told
    assert not any(words in told for words in ("Input should", "after validation", "should have", "should match"))


def test_all_problems_of_a_file_are_told_at_once(here):
    message = problems(here, "name: 1\ncount: -1\nnothing: 1\nname: b\n")
    assert message.startswith("4 problems:\n  thing.yaml:4: name: key given twice")
    assert all(line in message for line in ("thing.yaml:1: name", "thing.yaml:2: count", "thing.yaml:3: nothing"))


def test_a_secret_in_a_file_is_refused_unseen(here):
    message = problems(here, "name: a\ntoken: sk-planted\n")
    assert "thing.yaml:2: token: saw a secret (not shown)" in message
    assert "GAELP__TOKEN" in message
    assert "sk-planted" not in message


def test_a_secret_under_a_mistyped_key_is_not_shown(here):
    assert "sk-planted" not in problems(here, "name: a\ntokn: sk-planted\n")


def test_long_text_is_cut_in_the_message(here):
    assert len(problems(here, f"name: a\ncount: {'x' * 5000}\n")) < 300


def test_the_error_can_be_of_another_class(here):
    with pytest.raises(DataError, match=r"thing.yaml:1: nam: unknown key"):
        load(here, "nam: a\n", error=DataError)


def test_the_cause_that_holds_the_values_is_not_kept(here):
    with pytest.raises(ConfigError) as caught:
        load(here, "name: 1\n")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
