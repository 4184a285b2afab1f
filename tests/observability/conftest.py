import logging

import pytest
import structlog

from gaelp.observability import redact


@pytest.fixture(autouse=True)
def fresh_logging(monkeypatch):
    """Each test starts without registered secrets and leaves the process-wide logging as it found it."""
    monkeypatch.setattr(redact, "_of_this_process", redact.Redactor())
    root, ours = logging.getLogger(), logging.getLogger("gaelp")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    logging.captureWarnings(False)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
