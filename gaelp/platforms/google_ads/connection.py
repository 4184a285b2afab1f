"""The connection to Google Ads: every request has a deadline and a rate limit, and reads are retried with jitter."""

import random
import time
from collections.abc import Callable
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from threading import Lock, local
from typing import Any, TypeVar

import grpc
from google.ads.googleads.client import GoogleAdsClient
from google.ads.googleads.interceptors import ExceptionInterceptor, MetadataInterceptor
from google.oauth2.credentials import Credentials

from gaelp.config.google_ads_settings import GoogleAdsSettings
from gaelp.errors import ConfigError
from gaelp.platforms.google_ads.call_errors import ERRORS
from gaelp.platforms.google_ads.gaql import query
from gaelp.platforms.rate_limit import RateLimit
from gaelp.platforms.retrying import read_with_retries, wait_seconds
from gaelp.platforms.sandbox_identity import SANDBOX_TIME_HEADER

__all__ = ["AdsConnection"]

_VERSION = "v26"
_TOKEN_URI = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
_CHANNEL_OPTIONS = [("grpc.max_receive_message_length", 64 * 1024 * 1024), ("grpc.max_metadata_size", 1024 * 1024)]

Answer = TypeVar("Answer")


class AdsConnection:
    """One customer of Google Ads or of the sandbox; it connects with the first call. Several threads may use it."""

    def __init__(
        self,
        settings: GoogleAdsSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.settings = settings
        self._sleep, self._jitter = sleep, jitter
        self._rate = RateLimit(settings.calls_per_second, sleep=sleep)
        self._lock, self._services = Lock(), dict[str, Any]()
        self._times = _TimeReader()
        self.client = GoogleAdsClient(
            credentials=None,
            developer_token=_secret(settings.developer_token) if settings.certificate is None else "sandbox",
            version=_VERSION,
            use_proto_plus=True,
        )

    @property
    def customer_id(self) -> str:
        """The ten digits of the account."""
        return self.settings.customer_id

    def name_of(self, collection: str, *ids: object) -> str:
        """A resource name such as customers/1234567890/campaigns/12; a negative id is a temporary one."""
        return f"customers/{self.customer_id}/{collection}/{'~'.join(map(str, ids))}"

    def message(self, name: str) -> Any:
        """A new message of the API, such as MutateOperation."""
        return self.client.get_type(name)

    def search(self, text: str) -> list[Any]:
        """All rows of a query; retried, because reading twice changes nothing."""
        return [row for batch in self._stream(text) for row in batch.results]

    def search_plain(self, text: str) -> list[Any]:
        """The same as plain protobuf messages: many rows are read ten times as fast, enums are numbers."""
        return [row for batch in self._stream(text) for row in type(batch).pb(batch).results]

    def wrapped(self, name: str, plain: Any) -> Any:
        """A plain message of a row as one that `message` returns."""
        return type(self.message(name)).wrap(plain)

    def _stream(self, text: str) -> list[Any]:
        service = self.service("GoogleAdsService")
        request = {"customer_id": self.customer_id, "query": text}

        def read() -> list[Any]:
            return list(service.search_stream(request=request, timeout=self.settings.deadline_seconds, retry=None))

        return self.with_retries(read)

    def sandbox_time(self) -> str | None:
        """The time that the server's answers carry; None if they carry none."""
        service = self.service("GoogleAdsService")
        request = {"customer_id": self.customer_id, "query": query("customer", "customer.id")}
        self.with_retries(lambda: service.search(request=request, timeout=self.settings.deadline_seconds, retry=None))
        return self._times.last()

    def mutate(self, operations: list[Any], *, urgent: bool = False) -> None:
        """Carry out all operations or none, once; an error leaves open whether they were."""
        request = self.message("MutateGoogleAdsRequest")
        request.customer_id = self.customer_id
        request.mutate_operations.extend(operations)
        self.call(lambda timeout: self._mutate(request, timeout), urgent=urgent)

    def _mutate(self, request: Any, timeout: float) -> None:
        self.service("GoogleAdsService").mutate(request=request, timeout=timeout, retry=None)

    def call(self, make: Callable[[float], Answer], *, urgent: bool = False) -> Answer:
        """Make a call once with the deadline; an urgent one is not held back by the rate limit."""
        if not urgent:
            self._rate.wait()
        return make(self.settings.deadline_seconds)

    def with_retries(self, read: Callable[[], Answer]) -> Answer:
        """Make a call that changes nothing; a few attempts at growing intervals, for two deadlines at most."""
        once = partial(self.call, lambda _timeout: read())
        return read_with_retries(once, ERRORS, self.wait, seconds=self.settings.deadline_seconds)

    def wait(self, attempt: int) -> None:
        """Wait before the next attempt: longer each time, and not in step with other clients."""
        self._sleep(wait_seconds(attempt, self._jitter()))

    # Services

    def service(self, name: str) -> Any:
        """A service client of the official library, over the one channel of this connection."""
        with self._lock:
            if name not in self._services:
                client_class = _service_class(name)
                transport = client_class.get_transport_class()
                self._services[name] = client_class(transport=transport(channel=self._channel))
            return self._services[name]

    @cached_property
    def _channel(self) -> grpc.Channel:
        settings = self.settings
        transport = _service_class("GoogleAdsService").get_transport_class()
        channel = transport.create_channel(
            host=settings.endpoint,
            credentials=_credentials(settings),
            ssl_credentials=_only(settings.certificate) if settings.certificate else None,
            options=_CHANNEL_OPTIONS,
        )
        metadata = MetadataInterceptor(self.client.developer_token, settings.login_customer_id, None)
        return grpc.intercept_channel(
            channel, metadata, ExceptionInterceptor(_VERSION, use_proto_plus=True), self._times
        )


class _TimeReader(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Keeps the time that the last answer to this thread carried."""

    def __init__(self) -> None:
        self._of_thread = local()

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Pass the call on, and read the header of its answer."""
        answer = continuation(details, request)
        headers = (*(answer.initial_metadata() or ()), *(answer.trailing_metadata() or ()))
        self._of_thread.time = dict(headers).get(SANDBOX_TIME_HEADER)
        return answer

    def last(self) -> str | None:
        """The time of the last answer; None if it carried none."""
        time_text: str | None = getattr(self._of_thread, "time", None)
        return time_text


def _service_class(name: str) -> Any:
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
    module = import_module(f"google.ads.googleads.{_VERSION}.services.services.{snake}")
    return getattr(module, f"{name}Client")


def _credentials(settings: GoogleAdsSettings) -> Credentials:
    """The account's own credentials; a server that must present the sandbox's certificate gets none of them."""
    if settings.certificate is not None:
        return Credentials(token="sandbox")  # noqa: S106 - not a secret
    return Credentials(
        token=None,
        refresh_token=_secret(settings.refresh_token),
        client_id=_secret(settings.client_id),
        client_secret=_secret(settings.client_secret),
        token_uri=_TOKEN_URI,
    )


def _only(certificate: Path) -> grpc.ChannelCredentials:
    """Trust this certificate and no other."""
    try:
        return grpc.ssl_channel_credentials(root_certificates=certificate.read_bytes())
    except OSError as problem:
        raise ConfigError(
            f"platform.google_ads.certificate: {certificate} cannot be read ({problem.strerror}): start the sandbox"
            " (`gaelp sandbox start`), or name its certificate.pem"
        ) from problem


def _secret(value: Any) -> str:
    return str(value.get_secret_value()) if value is not None else ""
