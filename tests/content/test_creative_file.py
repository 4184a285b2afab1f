import json

import pytest

from gaelp.content import Audience, Creative, read_creatives
from gaelp.errors import DataError

YAML = """creatives:
  - id: a1
    advertiser: demo-shop
    headline: Fresh Bread
    audience: {min_age: 18, interests: [food, baking]}
  - id: a2
"""
CSV = "id,advertiser,headline,min_age,max_age,interests\na1,demo-shop,Fresh Bread,18,,food; baking\na2,,,,,\n"
WANTED = (
    Creative(
        id="a1",
        advertiser="demo-shop",
        headline="Fresh Bread",
        audience=Audience(min_age=18, interests=("food", "baking")),
    ),
    Creative(id="a2"),
)
JSON = json.dumps([one.model_dump(mode="json") for one in WANTED])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", YAML),
        ("a.csv", CSV),
        ("a.json", JSON),
        ("b.JSON", f'{{"creatives": {JSON}}}'),
        ("b.csv", "\ufeff" + CSV),
    ],
)
def test_the_same_creatives_are_read_from_every_form(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert read_creatives(path) == WANTED


@pytest.mark.parametrize(
    ("name", "text", "seen"),
    [
        ("a.txt", "x", "ends in .yaml, .json or .csv"),
        ("a.yaml", "creatives: []", "creatives: saw an empty list; allowed: 1 to 100000 entries"),
        ("a.yaml", YAML.replace("a2", "a1"), "a1 given twice"),
        ("a.yaml", YAML.replace("headline", "headlin"), "headlin"),
        ("a.json", "{", "not valid JSON"),
        ("a.json", "3", "single value"),
        ("a.json", '[{"id": "a", "headline": "Fresh \\ud83d Bread"}]', r"saw \\ud83d alone, after .*Fresh"),
        ("a.json", "[" * 200 + "]" * 200, "nested deeper than 32 levels"),
        ("a.csv", CSV.replace("18", "old"), "min_age"),
        ("a.csv", CSV.replace("18", "-1"), "min_age"),
        ("a.csv", CSV + "a3,x\n", "row 4"),
        ("a.csv", CSV + 'a3,"x', "CSV"),
        ("a.csv", CSV.replace("headline", "colour"), "colour"),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused_with_the_reason(tmp_path, name, text, seen):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=seen):
        read_creatives(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.yaml", "creatives: [{id: a, headlin: x}]"), ("a.json", '[{"id": "a", "headline": 3}]')],
)
def test_one_wrong_field_is_one_problem(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as refused:
        read_creatives(path)
    assert "entries" not in str(refused.value)
    assert str(refused.value).count("allowed") == 1


def test_a_file_that_is_not_there_is_named(tmp_path):
    for name in ("x.yaml", "x.json", "x.csv"):
        with pytest.raises(DataError, match=f"{name} is not there") as refused:
            read_creatives(tmp_path / name)
        assert "Known names" not in str(refused.value)
