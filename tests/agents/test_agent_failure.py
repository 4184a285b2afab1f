import pytest

from gaelp.agents.agent_failure import agent_failure
from gaelp.agents.scaling import changed
from gaelp.errors import BadInput, GaelpError


class Mine:
    def update(self, progress):
        return {}["missing"]


def _fail_in(call, code=Mine.update, owner=__name__):
    with agent_failure("mine", "update", code, owner):
        call()


def test_an_exception_names_agent_type_file_line_and_method():
    line = Mine.update.__code__.co_firstlineno + 1
    expected = rf"^your agent mine raised KeyError: 'missing'\nat .*test_agent_failure\.py:{line}, in update\."
    with pytest.raises(GaelpError, match=expected) as caught:
        _fail_in(lambda: Mine().update(0.5))
    assert caught.value.exit_code == 1
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("problem", [MemoryError(), RuntimeError("CUDA out of memory"), BadInput("no")])
def test_errors_of_gaelp_and_too_little_memory_are_left_to_the_loop(problem):
    def fail():
        raise problem

    with pytest.raises(type(problem)) as caught:
        _fail_in(fail)
    assert caught.value is problem


def test_an_exception_in_code_of_gaelp_stays_a_defect_of_gaelp():
    with pytest.raises(TypeError, match=r"^'NoneType' object is not iterable$"):
        _fail_in(lambda: changed(None, a=1), changed, changed.__module__)
