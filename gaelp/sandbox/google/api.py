"""Answer one request of the Google Ads API on a world: who calls, the handler in one world call, reply or failure."""

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from gaelp.errors import BadInput, GaelpError, Refused
from gaelp.observability import get_logger
from gaelp.sandbox.google.accounts import Customers, read_caller
from gaelp.sandbox.google.failures import FAILURE_KEY, AdsRefusal, Unsupported, failure_message
from gaelp.sandbox.google.messages import Message
from gaelp.sandbox.google.methods import AdsMethod
from gaelp.sandbox.google.session import AdsSession, ValidatedOnly
from gaelp.sandbox.world import SandboxWorld

__all__ = ["AdsFailed", "AdsReply", "GoogleAdsApi"]

_STATUSES: Mapping[str, str] = {
    "authentication_error": "UNAUTHENTICATED",
    "authorization_error": "PERMISSION_DENIED",
    "quota_error": "RESOURCE_EXHAUSTED",
}
_KEPT_ANSWERS = 256
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AdsReply:
    """The serialised messages of an answer: one, or those of a stream."""

    parts: Sequence[bytes]
    request_id: str


class AdsFailed(Exception):
    """A request that failed: gRPC status, text, and the trailing metadata with Google's failure."""

    def __init__(self, status: str, details: str, request_id: str, failure: bytes = b"") -> None:
        super().__init__(details)
        self.status, self.details, self.request_id = status, details, request_id
        self.metadata: list[tuple[str, str | bytes]] = [("request-id", request_id)]
        if failure:
            self.metadata.append((FAILURE_KEY, failure))


class GoogleAdsApi:
    """The API on a world, without its transport; may be used by several threads."""

    def __init__(self, world: SandboxWorld) -> None:
        self._world = world
        self._lock = Lock()
        self._answers: OrderedDict[tuple[str, bytes], AdsReply] = OrderedDict()

    def answer(self, method: AdsMethod, data: bytes, metadata: Mapping[str, str]) -> AdsReply:
        """Run a request; AdsFailed if it is refused or fails."""
        request_id = secrets.token_urlsafe(16)
        try:
            messages = self._run(method, method.parse(data), metadata, request_id)
        except AdsRefusal as refusal:
            raise _failed(refusal, request_id) from None
        except Unsupported as unsupported:
            text = f"{method.name}: not supported by this sandbox: {unsupported}"
            raise AdsFailed("UNIMPLEMENTED", text, request_id) from None
        except BadInput as problem:
            raise AdsFailed("INVALID_ARGUMENT", str(problem), request_id) from problem
        except Refused as problem:
            raise AdsFailed("FAILED_PRECONDITION", str(problem), request_id) from problem
        except GaelpError as problem:
            raise AdsFailed("INTERNAL", str(problem), request_id) from problem
        except Exception as problem:
            _log.exception("google_ads_request_failed", method=method.name, request_id=request_id)
            raise AdsFailed("INTERNAL", f"the sandbox failed: {problem!r}", request_id) from problem
        reply = AdsReply([message.SerializeToString() for message in messages], request_id)
        if method.is_read:
            self._remember(method, data, reply)
        return reply

    def _run(self, method: AdsMethod, request: Message, metadata: Mapping[str, str], request_id: str) -> list[Message]:
        caller = read_caller(metadata)
        spec = self._world.spec
        customer = method.customer(request) if method.customer is not None else ""
        if method.customer is not None:
            Customers(spec).check_access(customer, caller)
        try:
            with self._world.call(caller.at) as call:
                answer = method.handle(AdsSession(call, spec, caller, request_id, customer), request)
        except ValidatedOnly as validated:
            answer = validated.answer
        return answer if method.is_stream else [answer]

    def _remember(self, method: AdsMethod, data: bytes, reply: AdsReply) -> None:
        with self._lock:
            self._answers[method.name, data] = reply
            self._answers.move_to_end((method.name, data))
            if len(self._answers) > _KEPT_ANSWERS:
                self._answers.popitem(last=False)

    def stale_answer(self, method: AdsMethod, data: bytes) -> AdsReply | None:
        """What the same read was answered last time; None if it was not asked lately."""
        with self._lock:
            return self._answers.get((method.name, data))


def _failed(refusal: AdsRefusal, request_id: str) -> AdsFailed:
    first = refusal.errors[0]
    status = _STATUSES.get(first.category, "INVALID_ARGUMENT")
    if first.code == "DEVELOPER_TOKEN_PARAMETER_MISSING":
        status = "UNAUTHENTICATED"
    failure = failure_message(refusal.errors, request_id).SerializeToString()
    return AdsFailed(status, first.message, request_id, failure)
