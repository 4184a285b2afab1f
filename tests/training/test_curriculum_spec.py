import copy
import math

import pytest
import yaml
from pydantic import ValidationError

from gaelp.config.places import repository_root
from gaelp.errors import ConfigError
from gaelp.training.curriculum_spec import CurriculumSpec, Task, TaskMix, load_curriculum
from gaelp.training.task_market import build_tasks

SHIPPED = repository_root() / "configs" / "curriculum"
TASK = {"name": "calm", "why": "it is easy", "market": "calm", "promote_at": 0.9, "demote_below": 0.8}


def task(**changes):
    return {**TASK, **changes}


def chain(*links):
    """A curriculum from (name, required names) pairs."""
    return {"tasks": [task(name=name, requires=requires) for name, requires in links]}


def written(tmp_path, values):
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", sorted(path.stem for path in SHIPPED.glob("*.yaml")))
def test_every_shipped_curriculum_loads_and_begins_with_its_only_open_task(name):
    spec = load_curriculum(SHIPPED / f"{name}.yaml")
    assert [task.name for task in spec.tasks if not task.requires] == [spec.names[0]]


def test_the_default_curriculum_rises_from_calm_to_full():
    spec = load_curriculum(SHIPPED / "default.yaml")
    assert [task.market for task in spec.tasks] == ["calm", "calm", *["cal"] * 3, *["cal-first"] * 2, "full"]
    assert [task.requires for task in spec.tasks[1:]] == [(before.name,) for before in spec.tasks[:-1]]


def test_a_task_needs_little_and_takes_the_stated_defaults():
    lean = Task.model_validate(TASK)
    assert (lean.overrides, lean.randomise, lean.requires) == ({}, {}, ())
    assert (lean.window, lean.minimum_evaluations, lean.weight) == (5, 3, 1.0)
    assert CurriculumSpec.model_validate({"tasks": [TASK]}).mix == TaskMix(frontier=0.7, mastered=0.3)


@pytest.mark.parametrize("field", sorted(TASK))
def test_a_task_without_a_required_field_is_refused_by_its_name(tmp_path, field):
    values = {key: value for key, value in TASK.items() if key != field}
    with pytest.raises(ConfigError, match=rf"tasks\[0\]\.{field}: required key is missing"):
        load_curriculum(written(tmp_path, {"tasks": [values]}))


@pytest.mark.parametrize(
    ("changes", "seen"),
    [
        ({"promot_at": 0.5}, r"promot_at: unknown key; .* Did you mean tasks\[0\]\.promote_at\?"),
        ({"promote_at": 0.8}, r"task 'calm': demote_below=0\.8 must lie below promote_at=0\.8"),
        ({"promote_at": 0.7}, r"demote_below=0\.8 must lie below promote_at=0\.7"),
        ({"promote_at": 88}, r"promote_at: saw 88; allowed: greater than 0 and at most 1"),
        ({"promote_at": math.nan}, r"promote_at: saw nan"),
        ({"demote_below": -0.1}, r"demote_below: saw -0\.1; allowed: at least 0 and less than 1"),
        ({"window": 2, "minimum_evaluations": 3}, r"task 'calm': minimum_evaluations=3 exceeds window=2"),
        ({"window": 0}, r"window: saw 0"),
        ({"minimum_evaluations": 0}, r"minimum_evaluations: saw 0"),
        ({"weight": 0}, r"weight: saw 0"),
        ({"name": "Calm Market"}, r"name: saw 'Calm Market'"),
        ({"why": ""}, r"why: saw ''"),
        ({"overrides": {"name": "x"}}, r"name cannot be overridden: the built market is called after its task"),
        ({"overrides": {"randomise": {}}}, r"randomise cannot be overridden"),
        ({"randomise": {"price.levl_micros": [1, 2]}}, r"'price\.levl_micros' .* Did you mean price\.level_micros\?"),
        ({"randomise": {"days": [1, 2]}}, r"'days' cannot vary between campaigns"),
        ({"randomise": {"rivals.depth": [0.5, 0.2]}}, r"rivals\.depth runs from 0\.5 to 0\.2"),
        ({"randomise": {"rivals.depth": [0.5, math.inf]}}, r"rivals\.depth"),
    ],
)
def test_an_impossible_task_is_refused_with_the_reason(tmp_path, changes, seen):
    with pytest.raises(ConfigError, match=seen):
        load_curriculum(written(tmp_path, {"tasks": [task(**changes)]}))


def test_a_threshold_gap_and_a_range_may_be_as_small_as_can_be():
    Task.model_validate(task(promote_at=0.8, demote_below=math.nextafter(0.8, 0)))
    Task.model_validate(task(randomise={"rivals.depth": (0.2, 0.2)}))
    Task.model_validate(task(window=1, minimum_evaluations=1))


@pytest.mark.parametrize(("frontier", "mastered"), [(0.7, 0.2), (0.7, 0.4), (0, 1), (-0.5, 1.5), (1.5, -0.5)])
def test_shares_that_do_not_make_up_one_whole_are_refused(frontier, mastered):
    with pytest.raises(ValidationError):
        TaskMix(frontier=frontier, mastered=mastered)


@pytest.mark.parametrize(("frontier", "mastered"), [(0.9, 0.1), (0.1, 0.9), (1, 0), (1 / 3, 2 / 3)])
def test_shares_that_make_up_one_whole_are_taken(frontier, mastered):
    assert TaskMix(frontier=frontier, mastered=mastered).frontier == frontier


def test_wrong_shares_are_told_with_the_share_that_would_fit():
    with pytest.raises(ValidationError, match=r"sum to 0\.9, they must sum to 1: set mastered to 0\.3"):
        TaskMix(frontier=0.7, mastered=0.2)


@pytest.mark.parametrize(
    ("links", "seen"),
    [
        ([("a", []), ("b", ["a"]), ("a", [])], "two tasks are named 'a'"),
        ([("cal-one", []), ("b", ["cal-on"])], r"task 'b' requires 'cal-on', which is no task .* mean cal-one\?"),
        ([("a", ["a"])], "a -> a"),
        ([("a", ["b"]), ("b", ["a"])], "a -> b -> a"),
        ([("start", []), ("c", ["b"]), ("a", ["start", "c"]), ("b", ["a"])], "a -> b -> c -> a"),
    ],
)
def test_tasks_that_could_never_begin_are_refused_and_a_circle_is_spelled_out(tmp_path, links, seen):
    with pytest.raises(ConfigError, match=seen):
        load_curriculum(written(tmp_path, chain(*links)))


def test_branches_that_meet_again_are_no_circle_and_the_order_of_the_file_is_free():
    spec = CurriculumSpec.model_validate(chain(("d", ["b", "c"]), ("b", ["a"]), ("c", ["a"]), ("a", [])))
    assert spec.names == ("d", "b", "c", "a")


def test_a_curriculum_without_tasks_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="tasks"):
        load_curriculum(written(tmp_path, {"tasks": []}))


def test_a_curriculum_that_does_not_exist_is_refused_with_the_known_names():
    with pytest.raises(ConfigError, match=r"Known names: .*default, lag, quick"):
        load_curriculum("defalt")


def test_loading_leaves_the_given_values_as_they_are():
    values = task(overrides={"price": {"level_micros": 3}})
    before = copy.deepcopy(values)
    Task.model_validate(values)
    assert values == before


def test_the_lag_curriculum_changes_nothing_but_the_reports():
    prompt, late = build_tasks(load_curriculum("lag")).values()
    assert (prompt.reports.lag_hours, prompt.reports.invalid_share) == (0, 0.0)
    assert late.reports.lag_hours > 0
    assert late.reports.invalid_share > 0
    same = {"name", "label", "reports"}
    assert prompt.model_dump(exclude=same) == late.model_dump(exclude=same)
