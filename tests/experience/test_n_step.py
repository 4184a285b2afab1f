import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gaelp.errors import BadInput
from gaelp.experience.n_step import NStepWindow

GAMMA = 0.9


def window_for(stream, n_step):
    return NStepWindow(stream.fields, envs=stream.envs, n_step=n_step, gamma=GAMMA)


def joined(parts):
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


@pytest.mark.parametrize("segments", [(), (3,)])
@pytest.mark.parametrize("n_step", [1, 2, 3, 5])
def test_every_step_becomes_one_transition_that_stays_inside_its_episode(stream, check, n_step, segments):
    steps = stream(4, 40, segments=segments)
    window = window_for(steps, n_step)
    rows = joined([window.push(steps.step(t)) for t in range(40)])
    check(rows, steps, steps.expected(n_step))


def test_a_transition_is_out_with_the_step_that_completes_it(stream, check):
    steps = stream(4, 30, seed=3)
    window = window_for(steps, 3)
    parts = []
    for t in range(30):
        parts.append(window.push(steps.step(t)))
        check(joined(parts), steps, steps.expected(3, length=t + 1))


def test_transitions_come_out_in_the_order_in_which_they_began(stream):
    steps = stream(3, 30)
    window = window_for(steps, 4)
    for t in range(30):
        began = window.push(steps.step(t))["obs"][:, 1].tolist()
        assert began == sorted(began)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n_step=st.integers(1, 5),
    refused=st.sets(st.tuples(st.integers(0, 19), st.integers(0, 2)), max_size=15),
)
def test_a_refused_step_is_in_no_transition_and_what_came_before_is_cut_there(stream, check, seed, n_step, refused):
    steps = stream(3, 20, seed=seed)
    window = window_for(steps, n_step)
    parts = []
    for t in range(20):
        step = steps.step(t)
        bad = torch.tensor([(t, env) in refused for env in range(3)])
        step["rewards"][bad] = math.nan
        step["obs"][bad] = math.nan
        step["next_obs"][bad] = math.nan
        parts.append(window.push(step, bad if bad.any() else None))
    check(joined(parts), steps, steps.expected(n_step, refused))


def test_cutting_completes_what_waits_and_nothing_twice(stream, check):
    steps = stream(4, 12, seed=5)
    window = window_for(steps, 4)
    parts = [window.push(steps.step(t)) for t in range(7)]
    parts.append(window.cut(torch.ones(4, dtype=torch.bool)))
    assert len(window.cut(torch.ones(4, dtype=torch.bool))["obs"]) == 0
    steps.ended[6] = True
    parts += [window.push(steps.step(t)) for t in range(7, 12)]
    check(joined(parts), steps, steps.expected(4))


def test_the_tensors_given_are_left_as_they_were(stream):
    steps = stream(4, 10)
    window = NStepWindow(steps.fields, envs=4, n_step=3, gamma=GAMMA)
    step = steps.step(0)
    step["rewards"] = step["rewards"].double()
    before = {name: tensor.clone() for name, tensor in step.items()}
    window.push(step, torch.tensor([True, False, False, False]))
    assert all(torch.equal(before[name], tensor) for name, tensor in step.items())


def test_a_window_resumes_bit_for_bit(stream, stored, same_state):
    steps = stream(4, 20)
    window, resumed = window_for(steps, 3), window_for(steps, 3)
    for t in range(10):
        window.push(steps.step(t))
    resumed.load_state(stored(window.state()))
    for t in range(10, 20):
        one, other = window.push(steps.step(t)), resumed.push(steps.step(t))
        assert all(torch.equal(one[name], other[name]) for name in one)
    same_state(window.state(), resumed.state())


def test_a_state_of_other_settings_is_refused(stream):
    steps = stream(4, 20)
    with pytest.raises(BadInput, match=r"saved n_step is 3\.0, here it is 2"):
        window_for(steps, 2).load_state(window_for(steps, 3).state())


@pytest.mark.parametrize("wrong", [{"envs": 0}, {"n_step": 0}, {"gamma": 1.1}, {"gamma": math.nan}])
def test_settings_out_of_range_are_refused(stream, wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        NStepWindow(stream(1, 1).fields, **({"envs": 1, "n_step": 1, "gamma": 1.0} | wrong))
