from gaelp.phases import agent_registration, history, history_context, simulation
from gaelp.phases.history_declaration import HISTORY


def test_each_function_of_phase_2_is_found_when_it_is_called(monkeypatch):
    monkeypatch.setattr(history, "validate_on_history", lambda given: ("validated", given))
    monkeypatch.setattr(simulation, "hash_agent", lambda path: f"hash of {path}")
    monkeypatch.setattr(history_context, "history_context", lambda result, home: (result, home))
    monkeypatch.setattr(agent_registration, "register_agent", lambda *given: given)
    assert HISTORY.work("assignment") == ("validated", "assignment")
    assert HISTORY.hash_model("file") == "hash of file"
    assert HISTORY.context("result", "home") == ("result", "home")
    assert HISTORY.on_passed("settings", ["result"], "clock") == ("settings", ["result"], "clock")


def test_a_sealed_window_is_never_looked_at_again():
    assert HISTORY.second_attempt == "never_look_again"
    assert HISTORY.attempts_max == 1
