import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from gaelp.agents.schedules import ConstantSchedule, Cosine, LinearSchedule, Log, Schedule
from gaelp.errors import BadInput

PROGRESS = st.floats(0, 1)
RATES = st.floats(1e-12, 1e3)
RAMPS = st.sampled_from([LinearSchedule, Cosine, Log])


def test_a_constant_stays():
    assert {ConstantSchedule(start=3e-4).value(progress / 10) for progress in range(11)} == {3e-4}


@pytest.mark.parametrize(
    ("schedule", "quarter", "half"),
    [
        (LinearSchedule(start=1.0, end=0.0), 0.75, 0.5),
        (Cosine(start=1.0, end=0.0), (1 + math.sqrt(0.5)) / 2, 0.5),
        (Log(start=1e-2, end=1e-6), 1e-3, 1e-4),
        (LinearSchedule(start=1.0, end=0.0, until=0.5), 0.5, 0.0),
    ],
)
def test_a_ramp_follows_its_curve(schedule, quarter, half):
    assert schedule.value(0.25) == pytest.approx(quarter, rel=1e-12)
    assert schedule.value(0.5) == pytest.approx(half, rel=1e-12)


@given(kind=RAMPS, start=RATES, end=RATES, until=st.floats(0.01, 1))
def test_start_and_end_are_met_exactly(kind, start, end, until):
    schedule = kind(start=start, end=end, until=until)
    assert (schedule.value(0), schedule.value(until), schedule.value(1)) == (start, end, end)


@given(kind=RAMPS, start=RATES, end=RATES, one=PROGRESS, other=PROGRESS)
def test_a_ramp_goes_one_way_and_stays_between_its_ends(kind, start, end, one, other):
    schedule = kind(start=start, end=end)
    earlier, later = schedule.value(min(one, other)), schedule.value(max(one, other))
    direction = 1 if end >= start else -1
    assert direction * (later - earlier) >= -1e-12 * max(start, end)
    assert min(start, end) <= earlier <= max(start, end)


@pytest.mark.parametrize("progress", [-0.01, 1.01, math.nan])
@pytest.mark.parametrize("schedule", [ConstantSchedule(start=1), LinearSchedule(start=1, end=0)])
def test_progress_outside_training_is_refused(schedule, progress):
    with pytest.raises(BadInput, match=f"progress={progress} must lie in"):
        schedule.value(progress)


@pytest.mark.parametrize("kind", [LinearSchedule, Cosine, Log])
def test_a_configuration_chooses_its_kind_by_name(kind):
    schedule = kind(start=0.1, end=0.01)
    assert TypeAdapter(Schedule).validate_python(schedule.model_dump()) == schedule
    assert TypeAdapter(Schedule).validate_python({"kind": "constant", "start": 1}) == ConstantSchedule(start=1)


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        ({"kind": "step", "start": 1}, "'constant', 'linear', 'cosine', 'log'"),
        ({"kind": "log", "start": 1, "end": 0}, "greater than 0"),
        ({"kind": "linear", "start": 1}, "end"),
        ({"kind": "linear", "start": 1, "end": 0, "until": 0}, "until"),
        ({"kind": "linear", "start": math.inf, "end": 0}, "finite"),
        ({"kind": "constant", "start": 1, "end": 0}, "Extra inputs"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(wrong, seen):
    with pytest.raises(ValidationError, match=seen):
        TypeAdapter(Schedule).validate_python(wrong)
