"""What a run reports while it works: structured logs without secrets."""

from gaelp.observability.logs import LogFormat, bind_run, configure, get_logger
from gaelp.observability.redact import MASK, mask, mask_text, register_secrets

__all__ = ["MASK", "LogFormat", "bind_run", "configure", "get_logger", "mask", "mask_text", "register_secrets"]
