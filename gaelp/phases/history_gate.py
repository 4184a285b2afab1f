"""Which gate judges phase 2: the log decides, by whether its decisions have densities; nobody chooses."""

from gaelp.config.settings import GateSettings
from gaelp.gates import Gate, load_gate
from gaelp.history.log_checks import LogCheck
from gaelp.phases.history_declaration import WITHOUT_PROPENSITIES

__all__ = ["gate_for_log"]


def gate_for_log(usual: Gate, readable: LogCheck, settings: GateSettings) -> Gate:
    """The usual gate, or the one with higher bars for a log without propensities.

    `readable` is the check of the validation window: the ticket for the sealed window names its gate, so it is chosen
    before anything of that window is known.
    """
    return load_gate(WITHOUT_PROPENSITIES, settings) if readable.needs_model else usual
