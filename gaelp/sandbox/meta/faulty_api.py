"""The Graph API with faults: a request that a fault applies to fails, gets lost, is late, doubled or stale."""

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from gaelp.sandbox.faults import Fault, FaultInjector
from gaelp.sandbox.meta.graph_error import TOO_MANY_CALLS, GraphError
from gaelp.sandbox.meta.graph_request import GraphAnswer, GraphRequest

__all__ = ["FaultyApi"]

_REMEMBERED = 1000


class FaultyApi:
    """Answers like the API behind it, except where a fault is due; None is no answer at all."""

    def __init__(self, answer: Callable[[GraphRequest], GraphAnswer], faults: FaultInjector) -> None:
        self._answer, self._faults = answer, faults
        self._lock = Lock()
        self._last: OrderedDict[str, GraphAnswer] = OrderedDict()  # answers to reads, for stale ones

    def answer(self, request: GraphRequest) -> GraphAnswer | None:
        """The answer to send, or None to break off the connection."""
        fault = self._faults.next_fault("meta", request.name)
        if fault is None:
            return self._remembered(request, self._answer(request))
        return self._faulty(fault, request)

    def _faulty(self, fault: Fault, request: GraphRequest) -> GraphAnswer | None:
        match fault.effect:
            case "stale":
                return self._stale(request) or self._remembered(request, self._answer(request))
            case "twice":
                self._answer(request)
                return self._remembered(request, self._answer(request))
            case "delay":
                return self._delayed(fault, request)
            case "lost":
                if fault.when == "after":
                    self._answer(request)
                time.sleep(fault.seconds)
                return None
        if fault.when == "after":
            self._answer(request)
        return _error(int(fault.status), request)

    def _delayed(self, fault: Fault, request: GraphRequest) -> GraphAnswer:
        if fault.when == "before":
            time.sleep(fault.seconds)
            return self._remembered(request, self._answer(request))
        answer = self._remembered(request, self._answer(request))
        time.sleep(fault.seconds)
        return answer

    def _remembered(self, request: GraphRequest, answer: GraphAnswer) -> GraphAnswer:
        if request.method == "GET":
            with self._lock:
                self._last[_identity(request)] = answer
                while len(self._last) > _REMEMBERED:
                    self._last.popitem(last=False)
        return answer

    def _stale(self, request: GraphRequest) -> GraphAnswer | None:
        with self._lock:
            return self._last.get(_identity(request)) if request.method == "GET" else None


def _identity(request: GraphRequest) -> str:
    return f"{request.name} {sorted(request.parameters.items())}"


def _error(status: int, request: GraphRequest) -> GraphAnswer:
    """The error that Meta gives with this HTTP status."""
    if status == 429:
        problem = GraphError(
            "There have been too many calls to this ad-account. Wait a bit and try again.",
            code=TOO_MANY_CALLS,
            subcode=2446079,
            status=status,
            transient=True,
        )
    elif status >= 500:
        problem = GraphError(
            "An unexpected error has occurred. Please retry your request later.", code=2, status=status, transient=True
        )
    else:
        problem = GraphError("Invalid parameter", status=status)
    return GraphAnswer(problem.status, problem.body(_identity(request)))
