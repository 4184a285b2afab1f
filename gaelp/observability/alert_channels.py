"""The ways an alert takes: the log, a webhook, e-mail, or any function. Each delivers in bounded time or raises."""

import json
import logging
import smtplib
import ssl
import time
from collections.abc import Callable
from concurrent.futures import Future
from email.message import EmailMessage
from email.utils import format_datetime
from functools import cache
from threading import Thread
from typing import TypeVar

import httpx

from gaelp.config.alert_settings import EmailSettings, WebhookSettings
from gaelp.errors import ComponentMissing
from gaelp.observability.alerts import Alert
from gaelp.observability.logs import get_logger
from gaelp.observability.redact import mask_text

__all__ = ["ALERT_LOGGER", "CallableChannel", "EmailChannel", "LogChannel", "WebhookChannel"]

Sent = TypeVar("Sent")

ALERT_LOGGER = "gaelp.alerts"

_TRY_AGAIN_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


class LogChannel:
    """Writes an alert as a structured log line, at the level of its severity; notices only at debug."""

    name = "log"
    is_record = True

    def send(self, alert: Alert) -> None:
        """Log it; this always works."""
        logger = get_logger(ALERT_LOGGER)
        write = {"info": logger.debug, "warning": logger.warning, "critical": logger.critical}[alert.severity]
        write(
            alert.title,
            alert_source=alert.source,
            alert_key=alert.key,
            body=alert.body,
            alert_at=alert.at.isoformat(),
            context=alert.context,
        )


class CallableChannel:
    """Hands an alert to a function: the way for events of a workflow engine, which this package does not know.

    Such an event is a record; a function that reaches people says so with `is_record=False`.
    """

    def __init__(self, name: str, function: Callable[[Alert], object], *, is_record: bool = True) -> None:
        self.name, self.is_record = name, is_record
        self._function = function

    def send(self, alert: Alert) -> None:
        """Call the function; what it raises is the channel's failure."""
        self._function(alert)


class WebhookChannel:
    """Posts an alert as JSON; tries again on a lost connection, a timeout or a busy server, a bounded number of times.

    The header `Idempotency-Key` is the same on every attempt, so a receiver can drop what arrived twice.
    """

    def __init__(
        self, settings: WebhookSettings, *, name: str = "webhook", sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self.name = name
        self._settings, self._sleep = settings, sleep

    def send(self, alert: Alert) -> None:
        """Deliver, or raise ComponentMissing with the error of the last attempt; the address is not shown."""
        problem = ""
        for attempt in range(self._settings.attempts):
            if attempt:
                self._sleep(self._settings.wait_seconds * 2 ** (attempt - 1))
            problem, again = self._attempt(alert)
            if not problem:
                return
            if not again:
                break
        raise ComponentMissing(
            f"the channel {self.name} did not take the alert: {problem}. Check its address and server"
        )

    def _attempt(self, alert: Alert) -> tuple[str, bool]:
        """What went wrong, empty if nothing, and whether another attempt may help.

        What is delivered after the time is up has the same Idempotency-Key as the next attempt.
        """
        try:
            return _within(self._settings.timeout_seconds, self.name, lambda: self._post(alert))
        except TimeoutError:
            return self._too_late(), True

    def _post(self, alert: Alert) -> tuple[str, bool]:
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": f"{alert.source}/{alert.key}/{alert.at.isoformat()}",
        }
        try:
            # A redirect would carry the alert to somewhere nobody configured. Of the answer the status is enough: its
            # body may be long in coming, and is left.
            with httpx.stream(
                "POST",
                self._settings.url.get_secret_value(),
                content=alert.model_dump_json(),
                headers={name: value.encode("ascii", "backslashreplace").decode() for name, value in headers.items()},
                timeout=self._settings.timeout_seconds,
                follow_redirects=False,
                trust_env=False,
                verify=_trusted(),
            ) as answer:
                status, taken = answer.status_code, answer.is_success
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            return type(error).__name__, False
        except httpx.TimeoutException:
            return self._too_late(), True
        except httpx.TransportError as error:
            return type(error).__name__, True
        return ("", False) if taken else (f"status {status}", status in _TRY_AGAIN_STATUS)

    def _too_late(self) -> str:
        return f"no answer within {self._settings.timeout_seconds:g} s"


@cache
def _trusted() -> ssl.SSLContext:
    """The authorities a webhook's certificate is checked with; reading them takes a while, so once."""
    return httpx.create_ssl_context(trust_env=False)


class EmailChannel:
    """Sends an alert as a plain text mail."""

    def __init__(self, settings: EmailSettings, *, name: str = "email", tls: ssl.SSLContext | None = None) -> None:
        self.name = name
        self._settings, self._tls = settings, tls

    def send(self, alert: Alert) -> None:
        """Deliver to every recipient, or raise ComponentMissing with what the server said."""
        settings = self._settings
        server = f"the mail server {settings.host}:{settings.port}"
        try:
            refused = _within(settings.timeout_seconds, self.name, lambda: self._handed_over(alert))
        except TimeoutError:
            raise ComponentMissing(
                f"{server} did not take the alert within {settings.timeout_seconds:g} s. Check its settings"
            ) from None
        except (smtplib.SMTPException, OSError) as error:
            raise ComponentMissing(f"{server} did not take the alert: {error}. Check its settings") from error
        if refused:
            raise ComponentMissing(f"the mail server refused {refused}: check these addresses")

    def _handed_over(self, alert: Alert) -> list[str]:
        """Whom the server refused."""
        settings = self._settings
        with smtplib.SMTP(settings.host, settings.port, timeout=settings.timeout_seconds) as server:
            if settings.starttls:
                server.starttls(context=self._tls or ssl.create_default_context())
            if settings.user is not None and settings.password is not None:
                server.login(settings.user, settings.password.get_secret_value())
            return sorted(server.send_message(_mail(alert, settings)))


def _within(seconds: float, name: str, work: Callable[[], Sent]) -> Sent:
    """Run `work` in a daemon thread and return its result, or raise TimeoutError after `seconds`.

    Libraries limit each read, but neither the whole exchange nor the name lookup. After a timeout the thread is left
    alone; it does not keep the process alive.
    """
    done: Future[Sent] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            done.set_exception(error)

    Thread(target=run, name=f"gaelp-{name}", daemon=True).start()
    return done.result(seconds)


class _WithoutSecrets(logging.Filter):
    """httpx logs the address of every request, and that of a webhook is a secret."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = mask_text(record.getMessage()), ()
        return True


logging.getLogger("httpx").addFilter(_WithoutSecrets())


def _mail(alert: Alert, settings: EmailSettings) -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = settings.sender
    mail["To"] = ", ".join(settings.recipients)
    mail["Subject"] = f"[gaelp {alert.severity}] {alert.title}"
    mail["Date"] = format_datetime(alert.at)
    context = json.dumps(alert.context, indent=2, ensure_ascii=False, sort_keys=True)
    head = f"{alert.title}\n\n{alert.body}\n\n" if alert.body else f"{alert.title}\n\n"
    mail.set_content(f"{head}source: {alert.source}\nkey: {alert.key}\nat: {alert.at.isoformat()}\n{context}\n")
    return mail
