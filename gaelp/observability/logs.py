"""Structured logs on stderr: lines for people, or JSON lines where the settings ask for them; no secrets in either.

Records from `get_logger` and from the standard library's `logging` pass the same steps: collect context, format
exceptions, mask secrets, render.
"""

import contextlib
import logging
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Literal, TextIO, cast

import structlog
from pydantic import SecretStr
from structlog.contextvars import bind_contextvars, reset_contextvars
from structlog.stdlib import BoundLogger, ExtraAdder, ProcessorFormatter
from structlog.typing import EventDict, Processor

from gaelp.errors import BadInput
from gaelp.observability.redact import mask, register_secrets
from gaelp.types import RunId

__all__ = ["LogFormat", "bind_run", "configure", "get_logger"]

LogFormat = Literal["auto", "human", "json"]

_OURS = "gaelp"
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_FORMATS = ("auto", "human", "json")
_FIRST_KEYS = ("timestamp", "level", "logger", "run_id", "event")
_META_KEYS = ("_record", "_from_structlog")


def configure(
    *,
    level: str = "info",
    format: LogFormat = "auto",  # noqa: A002 - the word the command line and the configuration use
    run_id: RunId | None = None,
    secrets: Iterable[str | SecretStr] = (),
    stream: TextIO | None = None,
) -> None:
    """Send all logs of this process to `stream` (stderr if None); call it again to change anything.

    `auto` is `human`: a person may read stderr in a pager or a file as well. `level` applies to GAELP's own lines;
    libraries are logged from "warning" up. `run_id` marks every line, also those of other threads, unless `bind_run`
    names another. Secrets are added to those already registered.
    """
    threshold = _require_level(level)
    human = _require_format(format) != "json"
    handler = _Handler(stream)
    handler.setFormatter(_formatter(human=human, colors=(stream or sys.stderr).isatty(), run_id=run_id))
    _install(handler, threshold)
    structlog.configure(
        processors=_native_chain(), wrapper_class=BoundLogger, logger_factory=structlog.stdlib.LoggerFactory()
    )
    register_secrets(secrets)


def get_logger(name: str) -> BoundLogger:
    """Return the logger of a module (`get_logger(__name__)`); all hang below "gaelp", so one level holds for them."""
    full_name = name if name == _OURS or name.startswith(f"{_OURS}.") else f"{_OURS}.{name}"
    logger = structlog.wrap_logger(
        logging.getLogger(full_name), processors=_native_chain(), wrapper_class=BoundLogger, context_class=dict
    )
    return cast("BoundLogger", logger)


def bind_run(run_id: RunId) -> AbstractContextManager[object]:
    """Mark the lines that follow in this context with a run; used with `with`, only those inside the block."""
    undo = ExitStack()
    undo.callback(reset_contextvars, **bind_contextvars(run_id=run_id))
    return undo


class _Handler(logging.Handler):
    """Writes rendered lines to a fixed stream, or to whatever stderr is at that moment (progress bars replace it)."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception as error:  # noqa: BLE001 - the standard handler would print the raw arguments, secrets included
            line = self.format(_unprintable(record, error))
        stream = self._stream or sys.stderr
        encoding = getattr(stream, "encoding", None) or "utf-8"
        # Where stderr is closed, nobody can read the line.
        with contextlib.suppress(OSError, ValueError):
            stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
            stream.flush()


def _shared_chain() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        _mask_secrets,
    ]


def _native_chain() -> list[Processor]:
    return [
        structlog.stdlib.filter_by_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        *_shared_chain(),
        ProcessorFormatter.wrap_for_formatter,
    ]


def _formatter(*, human: bool, colors: bool, run_id: RunId | None) -> ProcessorFormatter:
    def in_order(_logger: object, _method: str, event: EventDict) -> EventDict:
        if run_id is not None:
            event.setdefault("run_id", run_id)
        return {key: event.pop(key) for key in _FIRST_KEYS if key in event} | dict(event)

    renderer: Processor = structlog.processors.JSONRenderer()
    if human:
        plain = structlog.dev.plain_traceback
        renderer = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain, sort_keys=False)
    return ProcessorFormatter(
        foreign_pre_chain=[ExtraAdder(), *_shared_chain()],
        processors=[ProcessorFormatter.remove_processors_meta, in_order, renderer],
    )


def _mask_secrets(_logger: object, _method: str, event: EventDict) -> EventDict:
    meta = {key: event.pop(key) for key in _META_KEYS if key in event}
    # Their names stay, even if somebody's password is "level".
    first = {key: mask(event.pop(key)) for key in _FIRST_KEYS if key in event}
    return first | cast("dict[str, Any]", mask(event)) | meta


def _install(handler: logging.Handler, threshold: int) -> None:
    root = logging.getLogger()
    for old in list(root.handlers):
        # A handler left by logging.basicConfig would print every line a second time, with its secrets.
        if type(old) in (_Handler, logging.StreamHandler):
            root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(max(threshold, logging.WARNING))
    logging.getLogger(_OURS).setLevel(threshold)
    logging.captureWarnings(True)


def _unprintable(record: logging.LogRecord, error: Exception) -> logging.LogRecord:
    message = f"a log line of {record.pathname}:{record.lineno} could not be rendered: {type(error).__name__}: {error}"
    return logging.makeLogRecord({"name": record.name, "levelno": logging.ERROR, "levelname": "ERROR", "msg": message})


def _require_level(level: str) -> int:
    if level.lower() not in _LEVELS:
        raise BadInput(f"log level is {level!r}: choose one of {', '.join(_LEVELS)}")
    return _LEVELS[level.lower()]


def _require_format(name: str) -> str:
    if name not in _FORMATS:
        raise BadInput(f"log format is {name!r}: choose one of {', '.join(_FORMATS)}")
    return name
