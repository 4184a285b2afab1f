"""Errors in the form of the Graph API: code, subcode, type, and a message that names the value and the way out."""

import hashlib
from typing import Any

__all__ = [
    "INVALID_PARAMETER",
    "INVALID_TOKEN",
    "NOT_PERMITTED",
    "TOO_MANY_CALLS",
    "UNKNOWN_PATH",
    "GraphError",
    "missing_object",
    "trace_id",
    "unsupported",
]

INVALID_PARAMETER = 100
UNKNOWN_PATH = 2500
INVALID_TOKEN = 190
TOO_MANY_CALLS = 80004  # of an ad account
NOT_PERMITTED = 200
MISSING_OBJECT = 33
_NOT_SUPPORTED = "is not supported by the sandbox"


class GraphError(Exception):
    """A request that is refused; `blame` names the parameter at fault."""

    def __init__(
        self,
        message: str,
        *,
        code: int = INVALID_PARAMETER,
        subcode: int | None = None,
        status: int = 400,
        transient: bool = False,
        title: str = "",
        blame: str = "",
    ) -> None:
        super().__init__(message)
        self.code, self.subcode, self.status = code, subcode, status
        self.transient, self.title, self.blame = transient, title, blame

    def body(self, trace: str) -> dict[str, Any]:
        """The answer's body; `trace` identifies the request and becomes the `fbtrace_id`."""
        prefix = f"(#{self.code}) " if self.code == INVALID_PARAMETER else ""
        error: dict[str, Any] = {"message": f"{prefix}{self}", "type": self._kind, "code": self.code}
        if self.subcode is not None:
            error["error_subcode"] = self.subcode
        if self.title:
            error |= {"error_user_title": self.title, "error_user_msg": str(self)}
        if self.blame:
            error["error_data"] = {"blame_field_specs": [[self.blame]]}
        error["is_transient"] = self.transient
        error["fbtrace_id"] = trace_id(trace)
        return {"error": error}

    @property
    def _kind(self) -> str:
        return "GraphMethodException" if self.subcode == MISSING_OBJECT else "OAuthException"


def missing_object(name: str, method: str) -> GraphError:
    """What Meta answers for an id that does not exist or belongs to somebody else."""
    return GraphError(
        f"Unsupported {method.lower()} request. Object with ID '{name}' does not exist, cannot be loaded due to missing"
        " permissions, or does not support this operation",
        subcode=MISSING_OBJECT,
    )


def unsupported(what: str, allowed: object = "") -> GraphError:
    """Something Meta has and the sandbox has not; `allowed` is what can be used instead."""
    way_out = f"; supported: {allowed}" if allowed else ""
    return GraphError(f"{what} {_NOT_SUPPORTED}{way_out}")


def trace_id(request: str) -> str:
    """A short id that is the same for the same request, so that a replay answers the same bytes."""
    return hashlib.sha256(request.encode()).hexdigest()[:16]
