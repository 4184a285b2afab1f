import math

import pytest
import torch

from gaelp.errors import BadInput, Refused
from gaelp.experience.replay import ReplayBuffer
from gaelp.experience.value_guard import FieldSpec

GAMMA = 0.9


def buffer_for(stream, capacity=1000, **settings):
    return ReplayBuffer(stream.fields, capacity=capacity, envs=stream.envs, gamma=GAMMA, **settings)


def contents(buffer):
    return buffer.gather(torch.arange(buffer.size), torch.ones(buffer.size)).tensors


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("n_step", [1, 3])
def test_a_buffer_holds_the_transitions_of_its_steps(stream, check, n_step):
    steps = stream(4, 30)
    buffer = buffer_for(steps, n_step=n_step)
    for t in range(30):
        buffer.add(steps.step(t))
    check(contents(buffer), steps, steps.expected(n_step))


@pytest.mark.parametrize("capacity", [4, 7, 8, 30])
def test_the_oldest_transition_is_overwritten_first_around_the_end(stream, capacity):
    steps = stream(4, 25)
    buffer = buffer_for(steps, capacity)
    arrived = []
    for t in range(25):
        places = buffer.add(steps.step(t))
        assert places.tolist() == [place % capacity for place in range(len(arrived), len(arrived) + 4)]
        arrived += steps.step(t)["actions"].tolist()
        held = sorted(contents(buffer)["actions"].tolist())
        assert held == sorted(arrived[-capacity:])
        assert buffer.size == min(capacity, len(arrived))


def test_places_say_where_each_transition_was_written(stream):
    steps = stream(4, 25)
    buffer = buffer_for(steps, 11, n_step=2)
    written = [buffer.add(steps.step(t)) for t in range(25)]
    last = written[-1]
    assert len(last) > 0
    assert contents(buffer)["obs"][last, 1].tolist() == sorted(contents(buffer)["obs"][last, 1].tolist())
    assert set(contents(buffer)["obs"][last, 1].tolist()) <= {23.0, 24.0}


def test_sampling_is_uniform_and_follows_from_the_generator_alone(stream):
    steps = stream(4, 5)
    buffer = buffer_for(steps)
    for t in range(5):
        buffer.add(steps.step(t))
    counts = torch.bincount(buffer.sample(20_000, generator(1), 0.0)["indices"], minlength=20)
    assert len(counts) == 20
    # 99.9% of chi-square with 19 degrees of freedom lies below 43.8.
    assert float(((counts - 1000) ** 2 / 1000).sum()) < 43.8
    one, other, different = (buffer.sample(50, generator(seed), 0.0) for seed in (2, 2, 3))
    assert torch.equal(one["actions"], other["actions"])
    assert not torch.equal(one["actions"], different["actions"])
    assert one["weights"].tolist() == [1.0] * 50


def test_a_sample_is_a_copy(stream):
    steps = stream(4, 5)
    buffer = buffer_for(steps)
    buffer.add(steps.step(0))
    sample = buffer.sample(10, generator(), 0.0)
    before = contents(buffer)["obs"].clone()
    sample["obs"].fill_(-1)
    assert torch.equal(contents(buffer)["obs"], before)


@pytest.mark.parametrize("n_step", [1, 3])
def test_a_buffer_resumes_bit_for_bit_after_it_has_wrapped(stream, stored, same_state, n_step):
    steps = stream(4, 40)
    buffer, resumed = buffer_for(steps, 17, n_step=n_step), buffer_for(steps, 17, n_step=n_step)
    for t in range(21):
        buffer.add(steps.step(t))
    saved = stored(buffer.state())
    for t in range(5):
        resumed.add(steps.step(t))
    resumed.load_state(saved)
    same_state(resumed.state(), saved)
    one, other = generator(1), generator(1)
    for t in range(21, 40):
        assert torch.equal(buffer.add(steps.step(t)), resumed.add(steps.step(t)))
        assert torch.equal(buffer.sample(9, one, 0.0)["rewards"], resumed.sample(9, other, 0.0)["rewards"])
    same_state(resumed.state(), buffer.state())


def test_a_saved_state_does_not_change_with_the_buffer(stream, stored, same_state):
    steps = stream(4, 40)
    buffer = buffer_for(steps, 17, n_step=3)
    for t in range(10):
        buffer.add(steps.step(t))
    state = buffer.state()
    copy = stored(state)
    for t in range(10, 20):
        buffer.add(steps.step(t))
    same_state(state, copy)


@pytest.mark.parametrize(
    ("name", "value", "seen"),
    [
        ("rewards", 1.5, r"rewards\[2\] is 1\.5, allowed is 0\.0\.\.1\.0"),
        ("rewards", math.nan, r"rewards\[2\] is nan"),
        ("obs", math.inf, r"obs\[2, 0\] is inf"),
        ("next_obs", math.nan, r"next_obs\[2, 0\] is nan"),
    ],
)
def test_a_poisoned_step_is_refused_by_name_and_leaves_no_trace(stream, same_state, name, value, seen):
    steps = stream(4, 10)
    buffer = buffer_for(steps, n_step=2)
    buffer.add(steps.step(0))
    before = buffer.state()
    step = steps.step(1)
    step[name][2] = value
    with pytest.raises(Refused, match=seen):
        buffer.add(step)
    after = buffer.state()
    assert after.pop("guard.last_refusal")
    before.pop("guard.last_refusal")
    same_state(before, after)


@pytest.mark.parametrize("n_step", [1, 3])
def test_a_poisoned_step_can_be_skipped_and_counted_while_the_others_go_in(stream, check, n_step):
    steps = stream(4, 30)
    buffer = buffer_for(steps, n_step=n_step, on_refused="skip")
    poisoned = {(5, 1), (6, 1), (6, 3), (20, 0)}
    for t in range(30):
        step = steps.step(t)
        for time, env in poisoned:
            if time == t:
                step["rewards"][env] = -99.0
        buffer.add(step)
    assert buffer.refused_steps == 4
    assert buffer.last_refusal == "rewards[0] is -99.0, allowed is 0.0..1.0"
    check(contents(buffer), steps, steps.expected(n_step, poisoned))


def test_cutting_before_a_reset_from_outside_completes_what_waits(stream, check):
    steps = stream(4, 6, ending=0.0)
    buffer = buffer_for(steps, n_step=4)
    for t in range(6):
        buffer.add(steps.step(t))
    assert buffer.size == 12
    assert len(buffer.cut()) == 12
    steps.ended[5] = True
    check(contents(buffer), steps, steps.expected(4))


def test_further_fields_are_stored_as_they_were_at_the_first_step(stream):
    steps = stream(2, 10, ending=0.0)
    fields = {**steps.fields, "log_probs": FieldSpec()}
    buffer = ReplayBuffer(fields, capacity=100, envs=2, gamma=GAMMA, n_step=3)
    for t in range(10):
        buffer.add(steps.step(t) | {"log_probs": torch.full((2,), float(t))})
    assert torch.equal(contents(buffer)["log_probs"], contents(buffer)["obs"][:, 1])


def test_an_empty_buffer_has_nothing_to_sample(stream):
    steps = stream(4, 10)
    buffer = buffer_for(steps, n_step=3)
    buffer.add(stream(4, 10, ending=0.0).step(0))
    with pytest.raises(BadInput, match="empty"):
        buffer.sample(1, generator(), 0.0)


def test_steps_that_do_not_fit_are_refused(stream):
    steps = stream(4, 10)
    buffer = buffer_for(steps)
    good = steps.step(0)
    with pytest.raises(BadInput, match="wanted is"):
        buffer.add({name: tensor for name, tensor in good.items() if name != "ended"})
    with pytest.raises(BadInput, match=r"shapes \{'rewards': \(1,\)\} do not begin with envs=4"):
        buffer.add(good | {"rewards": torch.zeros(1)})
    with pytest.raises(BadInput, match=r"actions is torch\.float32"):
        buffer.add(good | {"actions": torch.zeros(4)})
    everyone = torch.ones(4, dtype=torch.bool)
    with pytest.raises(BadInput, match="terminated but not ended"):
        buffer.add(good | {"ended": ~everyone, "terminated": everyone})
    assert buffer.size == 0


def test_settings_that_cannot_work_are_refused(stream):
    steps = stream(4, 10)
    with pytest.raises(BadInput, match="capacity=11 is less than one step can complete, envs"):
        buffer_for(steps, 11, n_step=3)
    with pytest.raises(BadInput, match=r"lacks \['actions', 'rewards'\]"):
        ReplayBuffer({"obs": FieldSpec()}, capacity=9, envs=1, gamma=1.0)
    with pytest.raises(BadInput, match=r"names \['discounts'\]"):
        ReplayBuffer({**steps.fields, "discounts": FieldSpec()}, capacity=9, envs=1, gamma=1.0)
    with pytest.raises(BadInput, match=r"rewards is declared as torch\.int64"):
        ReplayBuffer({**steps.fields, "rewards": FieldSpec(dtype=torch.int64)}, capacity=9, envs=1, gamma=1.0)


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ({"capacity": 18}, "saved capacity is 18"),
        ({"position": 17}, "saved position is 17"),
        ({"size": 18}, "saved size is 18"),
        ({"stored.obs": torch.zeros(3, 2)}, r"saved obs is torch\.float32 \(3, 2\)"),
        ({"window.slot": 3}, "saved slot is 3"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(stream, change, seen):
    steps = stream(4, 10)
    buffer = buffer_for(steps, 17, n_step=3)
    for t in range(10):
        buffer.add(steps.step(t))
    with pytest.raises(BadInput, match=seen):
        buffer_for(steps, 17, n_step=3).load_state(buffer.state() | change)
