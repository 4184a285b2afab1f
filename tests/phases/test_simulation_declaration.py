"""Phase 1 as the pipeline lists it: cheap to import, its code is loaded when it works."""

import subprocess
import sys

from gaelp.phases import simulation, simulation_context
from gaelp.phases.simulation_declaration import SIMULATION

HEAVY = ("torch", "numba", "scipy.stats", "matplotlib")


def test_listing_the_phases_loads_neither_torch_nor_the_market():
    listed = f"import sys, gaelp.phases.declared; print([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", listed], text=True) == "[]\n"


def test_each_function_of_the_declaration_is_the_one_of_the_phase(monkeypatch, tmp_path):
    monkeypatch.setattr(simulation, "simulate", lambda given: ("simulated", given))
    monkeypatch.setattr(simulation, "hash_agent", lambda path: f"hash of {path}")
    monkeypatch.setattr(simulation_context, "simulation_context", lambda result, home: (result, home))
    assert SIMULATION.work("assignment") == ("simulated", "assignment")
    assert SIMULATION.hash_model(tmp_path) == f"hash of {tmp_path}"
    assert SIMULATION.context("result", tmp_path) == ("result", tmp_path)
