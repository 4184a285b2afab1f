"""What an error of the official client means: certainly refused, worth a retry, or unknown; and its text."""

from typing import Any

from google.ads.googleads.errors import GoogleAdsException
from google.api_core.exceptions import GoogleAPICallError
from grpc import RpcError, StatusCode

from gaelp.checks.raised import in_words
from gaelp.platforms.retrying import ErrorReading

__all__ = ["ERRORS", "describe", "is_refusal", "is_worth_a_retry"]

# The server has answered that it will not do it. Only a search shows whether it has not done it: answers get mixed up.
_REFUSALS = frozenset(
    {
        StatusCode.INVALID_ARGUMENT,
        StatusCode.NOT_FOUND,
        StatusCode.ALREADY_EXISTS,
        StatusCode.PERMISSION_DENIED,
        StatusCode.FAILED_PRECONDITION,
        StatusCode.OUT_OF_RANGE,
        StatusCode.UNIMPLEMENTED,
        StatusCode.UNAUTHENTICATED,
    }
)
_WORTH_A_RETRY = frozenset(
    {
        StatusCode.UNAVAILABLE,
        StatusCode.ABORTED,
        StatusCode.INTERNAL,
        StatusCode.UNKNOWN,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.RESOURCE_EXHAUSTED,
    }
)
_SHOWN_ERRORS = 3


def is_refusal(error: Exception) -> bool:
    """Whether the server says that it will not carry the call out, now or later."""
    return _status_of(error) in _REFUSALS


def is_worth_a_retry(error: Exception) -> bool:
    """Whether the same call may succeed a moment later."""
    return _status_of(error) in _WORTH_A_RETRY


def describe(error: Exception) -> str:
    """Status, Google's own codes and messages, and the request id that Google's support asks for."""
    status = _status_of(error)
    if status is None:
        return in_words(error)
    if not isinstance(error, GoogleAdsException):
        return f"{status.name}: {str(getattr(error, 'message', '')) or in_words(error)}"
    errors = "; ".join(f"{_code(each.error_code)}: {each.message}" for each in error.failure.errors[:_SHOWN_ERRORS])
    return f"{status.name}: {errors} (request {error.request_id})"


def _code(error_code: Any) -> str:
    """Such as campaign_error.DUPLICATE_CAMPAIGN_NAME."""
    message = type(error_code).pb(error_code) if hasattr(type(error_code), "pb") else error_code
    name = message.WhichOneof("error_code")
    if name is None:
        return "unknown error"
    values = message.DESCRIPTOR.fields_by_name[name].enum_type.values_by_number
    return f"{name}.{values[getattr(message, name)].name}"


def _status_of(error: Exception) -> StatusCode | None:
    match error:
        case GoogleAdsException():
            return error.error.code()
        case GoogleAPICallError():
            return error.grpc_status_code
        case RpcError():
            return error.code() if hasattr(error, "code") else None
    return None


ERRORS = ErrorReading(is_refusal, is_worth_a_retry, describe)
