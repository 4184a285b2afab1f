import json
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gaelp.errors import BadInput, DataError
from gaelp.training.curriculum import finished, load, record, record_all, save, start, statuses, unlocked
from gaelp.training.curriculum_spec import CurriculumSpec
from gaelp.training.mixing import choose, task_shares

PROMOTE, DEMOTE = 0.9, 0.8
JUST_BELOW_PROMOTE, JUST_BELOW_DEMOTE = math.nextafter(PROMOTE, 0), math.nextafter(DEMOTE, 0)


def task(name, *requires, window=3, minimum=2, **changes):
    rules = {"name": name, "why": "a test", "market": "calm", "requires": requires, "window": window}
    rules |= {"promote_at": PROMOTE, "demote_below": DEMOTE, "minimum_evaluations": minimum}
    return rules | changes


def curriculum(*tasks):
    return CurriculumSpec.model_validate({"tasks": tasks})


def after(spec, *evaluations, state=None):
    """The state after evaluations given as (task, reward, reward, ...)."""
    state = state or start(spec)
    for name, *rewards in evaluations:
        for reward in rewards:
            state = record(spec, state, name, reward)
    return state


def progress(state, name):
    return next(task for task in state.tasks if task.name == name)


ALONE = curriculum(task("alone"))
CHAIN = curriculum(task("first"), task("second", "first"), task("third", "second"))
DIAMOND = curriculum(task("top", "left", "right"), task("left", "root"), task("right", "root"), task("root"))
MASTERED_CHAIN = after(CHAIN, ("first", 1, 1), ("second", 1, 1), ("third", 1, 1))


def test_at_the_start_only_tasks_without_requirements_are_open_and_nothing_is_finished():
    assert statuses(CHAIN, start(CHAIN)) == {"first": "training", "second": "locked", "third": "locked"}
    assert unlocked(CHAIN, start(CHAIN)) == ("first",)
    assert not finished(CHAIN, start(CHAIN))


# Promotion


@pytest.mark.parametrize(
    ("rewards", "mastered"),
    [
        ((PROMOTE, PROMOTE), True),
        ((PROMOTE, JUST_BELOW_PROMOTE), False),
        ((PROMOTE, math.nextafter(PROMOTE, 1)), True),
        ((1.0, 0.8), True),
        ((1.0, 0.79), False),
        ((0.5, 0.5, 0.5), False),
    ],
)
def test_a_task_is_mastered_from_the_threshold_on_and_not_just_below_it(rewards, mastered):
    assert progress(after(ALONE, ("alone", *rewards)), "alone").mastered is mastered


def test_no_reward_however_high_promotes_on_fewer_evaluations_than_the_minimum():
    spec = curriculum(task("alone", window=5, minimum=4))
    state = after(spec, ("alone", 1e9, 1e9, 1e9))
    assert not progress(state, "alone").mastered
    assert progress(after(spec, ("alone", 0.9), state=state), "alone").mastered


@pytest.mark.parametrize("count", range(1, 60))
def test_equal_rewards_on_the_threshold_reach_it_whatever_their_number(count):
    spec = curriculum(task("alone", window=count, minimum=count, promote_at=0.7, demote_below=0.1))
    assert finished(spec, after(spec, ("alone", *[0.7] * count)))


def test_a_bad_beginning_is_forgotten_once_it_has_left_the_window():
    state = after(ALONE, ("alone", 0, 0, 0, PROMOTE, PROMOTE))
    assert not progress(state, "alone").mastered
    assert progress(after(ALONE, ("alone", PROMOTE), state=state), "alone").mastered


def test_mastering_a_task_opens_those_that_wait_for_it_alone():
    state = after(DIAMOND, ("root", 1, 1))
    assert set(unlocked(DIAMOND, state)) == {"root", "left", "right"}
    state = after(DIAMOND, ("left", 1, 1), state=state)
    assert statuses(DIAMOND, state)["top"] == "locked"
    state = after(DIAMOND, ("right", 1, 1), state=state)
    assert statuses(DIAMOND, state)["top"] == "training"


def test_a_curriculum_is_finished_when_its_last_task_is_mastered():
    assert not finished(CHAIN, after(CHAIN, ("first", 1, 1), ("second", 1, 1), ("third", 1)))
    assert finished(CHAIN, MASTERED_CHAIN)


# Demotion


@pytest.mark.parametrize(
    ("rewards", "mastered"),
    [
        ((DEMOTE, DEMOTE), True),
        ((DEMOTE, JUST_BELOW_DEMOTE), True),  # the mean rounds to the threshold
        ((JUST_BELOW_DEMOTE, JUST_BELOW_DEMOTE), False),
        ((math.nextafter(DEMOTE, 1),) * 2, True),
        ((JUST_BELOW_PROMOTE,) * 9, True),
        ((1.0, 0.59), False),
    ],
)
def test_a_mastered_task_is_demoted_only_below_the_lower_threshold(rewards, mastered):
    state = after(ALONE, ("alone", 1, 1), ("alone", *rewards))
    assert progress(state, "alone").mastered is mastered
    assert finished(ALONE, state) is mastered


def test_between_the_thresholds_a_task_stays_what_it_is():
    between = [0.85] * 10
    assert statuses(ALONE, after(ALONE, ("alone", *between)))["alone"] == "training"
    assert statuses(ALONE, after(ALONE, ("alone", 1, 1), ("alone", *between)))["alone"] == "mastered"


def test_one_disaster_right_after_promotion_is_no_verdict_yet():
    state = after(ALONE, ("alone", 1, 1), ("alone", -1e6))
    assert progress(state, "alone").mastered
    assert not progress(after(ALONE, ("alone", 0.8), state=state), "alone").mastered


def test_after_a_demotion_the_task_must_prove_itself_on_new_evaluations():
    state = after(ALONE, ("alone", 1, 1), ("alone", 0, 0), ("alone", 1))
    assert statuses(ALONE, state) == {"alone": "training"}
    state = after(ALONE, ("alone", 1), state=state)
    assert finished(ALONE, state)
    record_of_it = progress(state, "alone")
    assert (record_of_it.evaluations, record_of_it.promotions, record_of_it.demotions) == (6, 2, 1)


def test_a_demotion_locks_all_that_builds_on_the_task_and_the_state_says_so():
    state = after(CHAIN, ("first", 0, 0), state=MASTERED_CHAIN)
    assert statuses(CHAIN, state) == {"first": "training", "second": "locked", "third": "locked"}
    assert [task.relocks for task in state.tasks] == [0, 1, 1]
    assert [task.demotions for task in state.tasks] == [1, 0, 0]


def test_a_relocked_task_comes_back_unproven():
    state = after(CHAIN, ("first", 0, 0), ("first", 1, 1), state=MASTERED_CHAIN)
    assert statuses(CHAIN, state) == {"first": "mastered", "second": "training", "third": "locked"}
    state = after(CHAIN, ("second", 1), state=state)
    assert statuses(CHAIN, state)["second"] == "training", "its evaluations from before must not count"


def test_a_task_in_training_that_is_relocked_loses_its_scores():
    state = after(CHAIN, ("first", 1, 1), ("second", 0.89), ("first", 0, 0))
    assert progress(state, "second").scores == ()
    assert progress(state, "second").relocks == 1
    assert progress(state, "third").relocks == 0, "it was locked all along"


def test_a_demotion_leaves_other_branches_alone():
    state = after(DIAMOND, ("root", 1, 1), ("left", 1, 1), ("right", 1, 1), ("top", 1, 1), ("left", 0, 0))
    assert statuses(DIAMOND, state) == {"top": "locked", "left": "training", "right": "mastered", "root": "mastered"}


# What is refused


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, np.float32(math.nan)])
def test_a_reward_that_is_no_number_is_refused(reward):
    with pytest.raises(BadInput, match=r"task 'first': the reward is -?(nan|inf), it must be finite"):
        record(CHAIN, start(CHAIN), "first", reward)
    with pytest.raises(BadInput, match="must be finite"):
        record_all(CHAIN, start(CHAIN), {"first": reward})


def test_a_locked_task_cannot_be_evaluated():
    with pytest.raises(BadInput, match=r"task 'second' is locked, .* evaluate one of first"):
        record(CHAIN, start(CHAIN), "second", 1.0)
    with pytest.raises(BadInput, match="task 'second' is locked"):
        record_all(CHAIN, start(CHAIN), {"first": 1.0, "second": 1.0})


def test_an_unknown_task_is_refused_with_the_likely_one():
    with pytest.raises(BadInput, match=r"'frist' is no task .* Did you mean first\?"):
        record(CHAIN, start(CHAIN), "frist", 1.0)


def test_a_state_cannot_be_changed_in_place():
    state = start(CHAIN)
    with pytest.raises(ValidationError, match="frozen"):
        state.tasks[0].mastered = True
    record(CHAIN, state, "first", 1.0)
    assert state == start(CHAIN)


# Several evaluations at once


@pytest.mark.parametrize("lowest", [0.0, 0.95], ids=["one falls", "none falls"])
def test_one_round_counts_the_same_whatever_the_order_of_its_rewards(lowest):
    state = after(CHAIN, ("first", 0.8), state=MASTERED_CHAIN)
    rewards = {"first": lowest, "second": 0.95, "third": 0.7}
    backwards = dict(reversed(rewards.items()))
    assert record_all(CHAIN, state, rewards) == record_all(CHAIN, state, backwards)


def test_a_round_in_which_no_task_falls_counts_like_its_evaluations_one_by_one():
    rewards = {"first": 0.0, "second": 0.95, "third": 0.7}
    assert record_all(CHAIN, MASTERED_CHAIN, rewards) == after(CHAIN, *rewards.items(), state=MASTERED_CHAIN)


def test_a_round_in_which_a_task_falls_drops_the_rewards_of_those_it_locks():
    state = after(CHAIN, ("first", 0.5), state=MASTERED_CHAIN)
    state = record_all(CHAIN, state, {"third": 1.0, "second": 1.0, "first": 0.5})
    assert statuses(CHAIN, state) == {"first": "training", "second": "locked", "third": "locked"}
    assert [task.scores for task in state.tasks] == [(), (), ()]


# Saving and loading


def test_a_saved_state_is_plain_json_and_loads_exactly():
    state = after(CHAIN, ("first", 0.1 + 0.2, np.float32(0.1), 1 / 3))
    assert load(CHAIN, json.loads(json.dumps(save(state)))) == state
    assert progress(state, "first").scores == (0.1 + 0.2, float(np.float32(0.1)), 1 / 3)


def test_a_state_loads_into_the_same_tasks_in_another_order():
    shuffled = CurriculumSpec(tasks=CHAIN.tasks[::-1])
    loaded = load(shuffled, save(MASTERED_CHAIN))
    assert [task.name for task in loaded.tasks] == list(shuffled.names)
    assert finished(shuffled, loaded)


def broken(change):
    saved = json.loads(json.dumps(save(after(CHAIN, ("first", 1, 1), ("second", 0.5)))))
    change(saved)
    return saved


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda saved: saved.update(version=2), "has version 2, this release reads 1"),
        (lambda saved: saved.update(version=True), "version: saw true"),
        (lambda saved: saved.pop("version"), "version: required key is missing"),
        (lambda saved: saved.pop("tasks"), "tasks: required key is missing"),
        (lambda saved: saved.update(note="x"), "note: unknown key"),
        (lambda saved: saved["tasks"][1].update(note="x"), r"tasks\[1\]\.note: unknown key"),
        (lambda saved: saved["tasks"][1].pop("relocks"), r"tasks\[1\]\.relocks: required key is missing"),
        (lambda saved: saved["tasks"][1].update(mastered=1), r"tasks\[1\]\.mastered: saw 1"),
        (lambda saved: saved["tasks"][1].update(evaluations=-1), r"tasks\[1\]\.evaluations: saw -1"),
        (lambda saved: saved["tasks"][1].update(scores=[math.nan]), r"tasks\[1\]\.scores\[0\]: saw nan"),
        (lambda saved: saved["tasks"][1].update(scores=["1"]), r"tasks\[1\]\.scores\[0\]: saw '1'"),
        (lambda saved: saved["tasks"][1].update(scores=[1.0] * 4, evaluations=9), "'second' has 4 scores, its window"),
        (lambda saved: saved["tasks"][1].update(evaluations=0), "'second' has 1 scores from 0 evaluations"),
        (lambda saved: saved["tasks"][2].update(mastered=True), "'third' is mastered although it requires second"),
        (lambda saved: saved["tasks"][2].update(scores=[1.0], evaluations=1), "'third' has scores although"),
        (lambda saved: saved["tasks"].pop(), "lacks tasks of this curriculum: third"),
        (lambda saved: saved["tasks"][2].update(name="fourth"), "tasks this curriculum does not have: fourth"),
        (lambda saved: saved["tasks"].append(saved["tasks"][0]), "4 tasks under 3 names"),
        (lambda saved: saved.update(tasks={1, 2}), "more than plain data: .*set"),
    ],
)
def test_a_saved_state_that_does_not_fit_is_refused_by_name(change, seen):
    with pytest.raises(DataError, match=seen):
        load(CHAIN, broken(change))


# Whatever happens


@st.composite
def curricula(draw):
    """Any graph of tasks, in any order, with any thresholds."""
    names = [f"task-{index}" for index in range(draw(st.integers(1, 6)))]
    tasks = []
    for index, name in enumerate(names):
        window = draw(st.integers(1, 4))
        low, high = sorted(draw(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=2, unique=True)))
        requires = draw(st.lists(st.sampled_from(names[:index]), unique=True, max_size=3)) if index else []
        rules = {"promote_at": high, "demote_below": low, "weight": draw(st.floats(0.01, 100))}
        tasks.append(task(name, *requires, window=window, minimum=draw(st.integers(1, window)), **rules))
    frontier = draw(st.sampled_from([1.0, 0.7, 0.5, 1 / 3, 0.001]))
    mix = {"frontier": frontier, "mastered": 1 - frontier}
    return CurriculumSpec.model_validate({"tasks": draw(st.permutations(tasks)), "mix": mix})


REWARDS = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1), st.floats(allow_nan=False, allow_infinity=False))
EVALUATIONS = st.lists(st.tuples(st.integers(0, 5), REWARDS), max_size=40)


def histories(spec, evaluations):
    """Every state on the way, each evaluation going to one of the tasks that are open by then."""
    state = start(spec)
    yield state
    for index, reward in evaluations:
        names = unlocked(spec, state)
        state = record(spec, state, names[index % len(names)], reward)
        yield state


def check_invariants(spec, state):
    status = statuses(spec, state)
    for rules, held in zip(spec.tasks, state.tasks, strict=True):
        proven = all(status[name] == "mastered" for name in rules.requires)
        assert (status[rules.name] != "locked") == proven
        assert held.mastered == (status[rules.name] == "mastered"), "a mastered task requires one that is not mastered"
        assert len(held.scores) <= min(rules.window, held.evaluations)
        assert not held.scores or proven
    assert finished(spec, state) == all(held.mastered for held in state.tasks)
    assert unlocked(spec, state), "there is always a task to train"


@given(curricula(), EVALUATIONS)
@settings(deadline=None, max_examples=60)
def test_whatever_the_rewards_no_task_is_open_unless_all_it_requires_is_mastered(spec, evaluations):
    for state in histories(spec, evaluations):
        check_invariants(spec, state)


@given(curricula(), EVALUATIONS, st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_whatever_the_rewards_only_open_tasks_are_played_and_their_shares_sum_to_one(spec, evaluations, seed):
    for state in histories(spec, evaluations):
        shares = task_shares(spec, state)
        assert sum(shares.values()) == 1
        assert set(shares) <= set(unlocked(spec, state))
        assert all(share > 0 for share in shares.values())
        assert choose(spec, state, np.random.default_rng(seed)) in unlocked(spec, state)


@given(curricula(), EVALUATIONS)
@settings(deadline=None, max_examples=60)
def test_whatever_the_rewards_a_state_survives_saving_and_the_same_rewards_give_the_same_state(spec, evaluations):
    for state, again in zip(histories(spec, evaluations), histories(spec, evaluations), strict=True):
        assert state == again
        loaded = load(spec, json.loads(json.dumps(save(state))))
        assert loaded == state
        assert json.dumps(save(loaded)) == json.dumps(save(state))


@given(curricula(), EVALUATIONS, st.data())
@settings(deadline=None, max_examples=60)
def test_training_that_was_saved_and_loaded_goes_on_as_if_never_interrupted(spec, evaluations, data):
    assume(evaluations)
    cut = data.draw(st.integers(0, len(evaluations)))
    *_, halfway = histories(spec, evaluations[:cut])
    *_, whole = histories(spec, evaluations)
    state = load(spec, json.loads(json.dumps(save(halfway))))
    for index, reward in evaluations[cut:]:
        names = unlocked(spec, state)
        state = record(spec, state, names[index % len(names)], reward)
    assert state == whole


@given(curricula(), st.lists(REWARDS, min_size=1, max_size=30))
@settings(deadline=None, max_examples=60)
def test_a_verdict_never_rests_on_fewer_evaluations_than_the_minimum(spec, rewards):
    root = next(rules for rules in spec.tasks if not rules.requires)
    state, since = start(spec), 0
    for reward in rewards:
        before = progress(state, root.name).mastered
        state = record(spec, state, root.name, reward)
        since += 1
        if progress(state, root.name).mastered != before:
            assert since >= root.minimum_evaluations
            since = 0


@given(curricula())
@settings(deadline=None, max_examples=50)
def test_perfect_rewards_finish_any_curriculum(spec):
    state = start(spec)
    for _ in range(len(spec.tasks) * 4):
        state = record_all(spec, state, dict.fromkeys(unlocked(spec, state), 1.0))
    assert finished(spec, state)
