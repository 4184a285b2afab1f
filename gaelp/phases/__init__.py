"""The four phases as plain functions: settings in, figures and files out."""

from gaelp.phases.simulation import SimulationResult, run_simulation

__all__ = ["SimulationResult", "run_simulation"]
