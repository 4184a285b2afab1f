"""The Google front: the Google Ads API over TLS gRPC on a world, with the faults that are due."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from typing import Any, NoReturn

import grpc

from gaelp.errors import BadInput
from gaelp.sandbox.certificate import Certificate
from gaelp.sandbox.faults import Fault, FaultInjector
from gaelp.sandbox.front import TIME_HEADER, RunningFront
from gaelp.sandbox.google.account_control import group_names, set_suspended
from gaelp.sandbox.google.api import AdsFailed, AdsReply, GoogleAdsApi
from gaelp.sandbox.google.client_settings import serving_tokens, write_client_settings
from gaelp.sandbox.google.messages import VERSION
from gaelp.sandbox.google.methods import METHODS, AdsMethod
from gaelp.sandbox.world import SandboxWorld

__all__ = ["start_google_front"]

_THREADS = 32
_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.02
_OPTIONS = (("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", 64 * 1024 * 1024))


def start_google_front(world: SandboxWorld, certificate: Certificate, faults: FaultInjector, port: int) -> RunningFront:
    """Start to answer on 127.0.0.1; port 0 takes a free one. The world's folder gets a google-ads.yaml for clients."""
    server = grpc.server(ThreadPoolExecutor(_THREADS, thread_name_prefix="google-ads"), options=_OPTIONS)
    server.add_generic_rpc_handlers((_Router(GoogleAdsApi(world), faults, world.now),))
    credentials = grpc.ssl_server_credentials([(certificate.key_pem, certificate.pem)])
    try:
        bound = server.add_secure_port(f"127.0.0.1:{port}", credentials)
    except RuntimeError as problem:
        raise BadInput(
            f"port {port} of 127.0.0.1 cannot be used ({problem}): choose another, or 0 for a free one"
        ) from None
    running = ExitStack()
    token_port = running.enter_context(serving_tokens())
    manager = world.spec.manager_customer_id
    write_client_settings(world.folder, port=bound, token_port=token_port, manager=manager)
    server.start()
    running.callback(lambda: server.stop(_GRACE_SECONDS).wait())
    return RunningFront(
        bound,
        running.close,
        suspend=lambda account, is_so: set_suspended(world, account, suspended=is_so),
        names=lambda account: group_names(world, account),
    )


class _Router(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Finds the handler of a method; an unknown one answers UNIMPLEMENTED with its name."""

    def __init__(self, api: GoogleAdsApi, faults: FaultInjector, now: Callable[[], datetime]) -> None:
        self._api, self._faults, self._now = api, faults, now

    def service(self, handler_call_details: Any) -> Any:
        """Called by gRPC for each request."""
        path = handler_call_details.method
        method = METHODS.get(path)
        if method is None:
            return grpc.unary_unary_rpc_method_handler(lambda _data, context: _refuse_method(path, context))
        if method.is_stream:
            return grpc.unary_stream_rpc_method_handler(lambda data, context: self._stream(method, data, context))
        return grpc.unary_unary_rpc_method_handler(lambda data, context: self._reply(method, data, context).parts[0])

    def _stream(self, method: AdsMethod, data: bytes, context: Any) -> Iterator[bytes]:
        yield from self._reply(method, data, context).parts

    def _reply(self, method: AdsMethod, data: bytes, context: Any) -> AdsReply:
        metadata = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        fault = self._faults.next_fault("google", method.name)
        try:
            reply = self._with_fault(fault, method, data, metadata, context)
        except AdsFailed as failed:
            context.set_trailing_metadata(failed.metadata)
            context.abort(grpc.StatusCode[failed.status], failed.details)
        context.set_trailing_metadata([("request-id", reply.request_id), (TIME_HEADER, self._now().isoformat())])
        return reply

    def _with_fault(
        self, fault: Fault | None, method: AdsMethod, data: bytes, metadata: Mapping[str, str], context: Any
    ) -> AdsReply:
        if fault is not None and fault.when == "before":
            _misbehave(fault, context)
        if fault is not None and fault.effect == "stale":
            stale = self._api.stale_answer(method, data)
            if stale is not None:
                return stale
        if fault is not None and fault.effect == "twice":
            self._api.answer(method, data, metadata)
        reply = self._api.answer(method, data, metadata)
        if fault is not None and fault.when == "after":
            _misbehave(fault, context)
        return reply


def _refuse_method(path: str, context: Any) -> NoReturn:
    known = ", ".join(sorted(method.name for method in METHODS.values()))
    context.abort(
        grpc.StatusCode.UNIMPLEMENTED,
        f"{path} is not supported by this sandbox, which has the Google Ads API {VERSION} with {known}",
    )
    raise AssertionError("abort raises")


def _misbehave(fault: Fault, context: Any) -> None:
    """Fail, be silent or be late, as the fault says."""
    if fault.effect == "error":
        raise AdsFailed(fault.status, f"injected fault: {fault.status} {fault.when} applying", "fault")
    if fault.effect == "delay":
        time.sleep(fault.seconds)
    if fault.effect == "lost":
        deadline = time.monotonic() + fault.seconds
        while context.is_active() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        raise AdsFailed("UNAVAILABLE", f"injected fault: the answer was lost {fault.when} applying", "fault")
