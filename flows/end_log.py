"""The log of a run that ends at a gate: one calm line, where Prefect prints a traceback of its own code.

A run that somebody rejected, or whose gate refused it, ends in a state of type FAILED. Prefect raises an exception for
such a state after the flow has returned it, and logs that as an error.
"""

import logging

__all__ = ["log_end"]

_LOGGER = "prefect.flow_runs"
_PREFECTS_LINE = "Finished in state"


def log_end(flow_run_id: str, sentence: str) -> None:
    """Have Prefect's last lines about a flow run say this sentence, without a traceback; call it as the flow ends."""
    logging.getLogger(_LOGGER).addFilter(_OneLine(flow_run_id, sentence))


class _OneLine(logging.Filter):
    def __init__(self, flow_run_id: str, sentence: str) -> None:
        super().__init__()
        self._flow_run_id = flow_run_id
        self._sentence = sentence

    def filter(self, record: logging.LogRecord) -> bool:
        if str(getattr(record, "flow_run_id", "")) != self._flow_run_id:
            return True
        if str(record.msg).startswith(_PREFECTS_LINE):
            record.msg, record.args = self._sentence, ()
        return not record.exc_info
