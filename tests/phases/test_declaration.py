"""A phase is declared once; what was proven is stored once, and the model that is handed on is the one judged."""

from datetime import UTC, datetime

import pytest

from gaelp.clock import ManualClock
from gaelp.config import load_settings
from gaelp.errors import BadInput, Refused
from gaelp.phases.declaration import Assignment, PhaseDeclaration, carry_out, check_model
from gaelp.phases.phase_result import read_result
from gaelp.phases.run_folder import RunFolder
from gaelp.types import Phase

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Work:
    """The work of a phase, and how often it was done."""

    def __init__(self, make_result):
        self._make = make_result
        self.given = []

    def __call__(self, given):
        self.given.append(given)
        return self._make(
            given.folder.run_id, phase=given.folder.phase, attempt=given.attempt, extension=given.extension
        )


@pytest.fixture
def work(make_result):
    return Work(make_result)


@pytest.fixture
def given(tmp_path):
    def make(phase=Phase.PILOT, attempt=1, extension=0, previous=None):
        settings = load_settings(overrides=[f"home={tmp_path}"], environ={}).settings
        folder = RunFolder(tmp_path, "r").phase(phase, attempt)
        gate = declared(lambda _: None).load_gate(settings.gate)
        return Assignment(settings, folder, gate, previous, ManualClock(NOW), lambda report: None, extension)

    return make


def declared(work, phase=Phase.PILOT, second_attempt="never_spend_again", **more):
    return PhaseDeclaration(
        phase=phase, work=work, second_attempt=second_attempt, inconclusive=more.pop("inconclusive", "hold"), **more
    )


def test_what_an_attempt_proved_is_stored_in_its_folder(work, given, tmp_path):
    path = carry_out(declared(work), given())
    assert path == tmp_path / "runs/r/pilot/1/result.json"
    assert read_result(path).phase == Phase.PILOT


@pytest.mark.parametrize("second_attempt", ["never_spend_again", "never_look_again"])
def test_a_phase_that_spends_or_looks_once_is_never_computed_again(work, given, second_attempt):
    phase = declared(work, second_attempt=second_attempt)
    first = carry_out(phase, given()).read_bytes()
    assert carry_out(phase, given()).read_bytes() == first
    assert len(work.given) == 1


def test_each_extension_has_a_result_of_its_own_and_is_computed_once(work, given):
    phase = declared(work, inconclusive="extend", extensions_max=2)
    paths = [carry_out(phase, given(extension=number)) for number in (0, 1, 2, 1, 0)]
    assert [path.name for path in paths[:3]] == ["result.json", "result-1.json", "result-2.json"]
    assert [given.extension for given in work.given] == [0, 1, 2]


def test_a_phase_sees_what_the_one_before_proved_and_where_its_model_is(work, given, make_result, tmp_path):
    proven = make_result("r")
    carry_out(declared(work), given(previous=proven))
    previous = work.given[0].previous
    assert previous.model_file(tmp_path).read_bytes() == b"the model"
    assert (previous.attempt, previous.verdict.outcome) == (1, "pass")


def test_a_result_of_another_attempt_is_refused(make_result, given):
    with pytest.raises(BadInput, match="asked for was"):
        carry_out(declared(lambda _: make_result("r", phase=Phase.PILOT, attempt=2)), given())


def test_a_model_that_was_exchanged_after_it_was_judged_is_refused(make_result, tmp_path):
    result = make_result("r")
    phase = declared(lambda _: result)
    check_model(phase, result, result.model_hash, tmp_path)
    result.model_file(tmp_path).write_bytes(b"another model")
    with pytest.raises(Refused, match=r"the model of phase simulation .* has the hash"):
        check_model(phase, result, result.model_hash, tmp_path)


def test_a_model_that_is_not_the_approved_one_is_refused(make_result, tmp_path):
    result = make_result("r")
    with pytest.raises(Refused, match="approved 000000000000"):
        check_model(declared(lambda _: result), result, "0" * 64, tmp_path)


def test_a_model_that_is_gone_is_refused_with_the_way_out(make_result, tmp_path):
    result = make_result("r")
    result.model_file(tmp_path).unlink()
    with pytest.raises(Refused, match="restore it from a copy, or begin another run"):
        check_model(declared(lambda _: result), result, result.model_hash, tmp_path)


@pytest.mark.parametrize(
    "contradiction",
    [
        {"attempts_max": 3},
        {"attempts_max": 0, "second_attempt": "another_draw"},
        {"extensions_max": 2},
        {"inconclusive": "extend"},
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(contradiction):
    with pytest.raises(BadInput, match="allowed: 1"):
        declared(lambda _: None, **contradiction)
