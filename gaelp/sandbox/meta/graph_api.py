"""Answers to requests: one world call each, with usage headers, the call limit, and errors in Meta's form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

from gaelp.errors import BadInput, GaelpError
from gaelp.observability import get_logger
from gaelp.sandbox.front import TIME_HEADER, stamped_time
from gaelp.sandbox.meta.batch import run_batch
from gaelp.sandbox.meta.graph import GraphCall
from gaelp.sandbox.meta.graph_error import TOO_MANY_CALLS, GraphError, trace_id
from gaelp.sandbox.meta.graph_request import GraphAnswer, GraphRequest
from gaelp.sandbox.meta.object_writes import ValidateOnly
from gaelp.sandbox.world import SandboxWorld

__all__ = ["CALLS_PER_DAY", "GraphApi"]

log = get_logger(__name__)

CALLS_PER_DAY = 1_000_000  # of an account, in simulated days
_COST = {"GET": 1, "POST": 3, "DELETE": 3}  # as Meta weighs calls


@dataclass(frozen=True, slots=True)
class GraphApi:
    """The API on a world; safe for several threads."""

    world: SandboxWorld
    calls_per_day: int = CALLS_PER_DAY

    def answer(self, request: GraphRequest) -> GraphAnswer:
        """Answer a request, a batch included; never raises for what a client sent."""
        try:
            if request.method == "POST" and not request.path and "batch" in request.parameters:
                return GraphAnswer(200, run_batch(request, self._answer_one), self._date())
        except GraphError as refused:
            return GraphAnswer(refused.status, refused.body(request.name), self._date())
        return self._answer_one(request)

    def _answer_one(self, request: GraphRequest) -> GraphAnswer:
        usage: dict[str, str] = {}
        try:
            with self.world.call(stamped_time(request.time_stamp)) as call:
                used = call.count_operations(_OF_ALL, _COST[request.method])
                usage = self._usage(used)
                self._check_limit(used)
                body = GraphCall(call, self.world.spec, request).answer()
        except ValidateOnly:
            body = {"success": True}
        except GraphError as refused:
            return self._refused(request, refused, usage)
        except BadInput as problem:  # such as a time stamp in the past, or what the exchange cannot serve
            return self._refused(request, GraphError(str(problem)), usage)
        except GaelpError as problem:
            failed = GraphError(f"the sandbox failed: {problem}", code=2, status=500, transient=True)
            return self._refused(request, failed, usage)
        except Exception as problem:
            log.exception("a request to the Meta front failed", request=request.name)
            failed = GraphError(f"the sandbox failed: {problem!r}", code=1, status=500)
            return self._refused(request, failed, usage)
        return GraphAnswer(200, body, {**self._date(), **usage, "x-fb-trace-id": trace_id(self._trace(request))})

    def _refused(self, request: GraphRequest, problem: GraphError, usage: Mapping[str, str]) -> GraphAnswer:
        return GraphAnswer(problem.status, problem.body(self._trace(request)), {**self._date(), **usage})

    def _check_limit(self, used: int) -> None:
        if used > self.calls_per_day:
            raise GraphError(
                f"There have been too many calls to this ad-account ({used} of {self.calls_per_day} points today)."
                " Wait a bit and try again.",
                code=TOO_MANY_CALLS,
                subcode=2446079,
                transient=True,
            )

    def _trace(self, request: GraphRequest) -> str:
        return f"{self.world.now().isoformat()} {request.name} {sorted(request.parameters.items())}"

    def _date(self) -> Mapping[str, str]:
        """The platform's own clock, as every HTTP server gives it: here the simulated one."""
        now: datetime = self.world.now().astimezone(UTC).replace(microsecond=0)
        return {
            "date": format_datetime(now, usegmt=True),
            TIME_HEADER: now.isoformat(),
            "facebook-api-version": "v26.0",
        }

    def _usage(self, used: int) -> dict[str, str]:
        percent = min(100, 100 * used // self.calls_per_day)
        use_case = {
            "type": "ads_management",
            "call_count": percent,
            "total_cputime": 0,
            "total_time": 0,
            "estimated_time_to_regain_access": 60 if percent >= 100 else 0,
            "ads_api_access_tier": "standard_access",
        }
        accounts = {number: [use_case] for number in self.world.spec.meta_account_ids}
        return {
            "x-business-use-case-usage": json.dumps(accounts),
            "x-app-usage": json.dumps({"call_count": percent, "total_cputime": 0, "total_time": 0}),
        }


_OF_ALL = "meta"  # calls are counted for the application, whatever account they are about
