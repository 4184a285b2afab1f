"""Errors in Google's own form: GoogleAdsFailure with code, message, field path and request id."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gaelp.sandbox.google.messages import API, Message, new

__all__ = ["FAILURE_KEY", "AdsError", "AdsRefusal", "FieldPath", "Unsupported", "failure_message", "status_message"]


FAILURE_KEY = f"{API}.errors.googleadsfailure-bin"  # the trailing metadata in which the official client looks

FieldPath: TypeAlias = tuple[tuple[str, int | None], ...]  # names of fields, with an index where one is repeated


@dataclass(frozen=True, slots=True)
class AdsError:
    """One error of the API: `code` is a field of ErrorCode and the name of its value, both as Google has them."""

    category: str  # such as campaign_error
    code: str  # such as DUPLICATE_CAMPAIGN_NAME
    message: str
    path: FieldPath = ()
    trigger: str = ""  # the value that is wrong

    def below(self, *parents: tuple[str, int | None]) -> "AdsError":
        """The same error, with its field path starting further out."""
        return AdsError(self.category, self.code, self.message, (*parents, *self.path), self.trigger)


class AdsRefusal(Exception):
    """A request, or one operation of it, is refused with these errors; nothing of it is applied."""

    def __init__(self, *errors: AdsError) -> None:
        super().__init__("; ".join(f"{error.category}.{error.code}: {error.message}" for error in errors))
        self.errors: Sequence[AdsError] = errors


class Unsupported(Exception):
    """Something that the real API has and this sandbox does not; answered with UNIMPLEMENTED and its name."""


def _error_message(error: AdsError) -> Message:
    result = new("errors.GoogleAdsError", message=error.message)
    codes = result.error_code
    values = codes.DESCRIPTOR.fields_by_name[error.category].enum_type.values_by_name
    setattr(codes, error.category, values[error.code].number)
    if error.trigger:
        result.trigger.string_value = error.trigger
    for name, index in error.path:
        element = result.location.field_path_elements.add(field_name=name)
        if index is not None:
            element.index = index
    if error.category == "quota_error":
        result.details.quota_error_details.rate_name = "Number of operations for basic access"
        result.details.quota_error_details.retry_delay.seconds = 3600
    return result


def failure_message(errors: Sequence[AdsError], request_id: str) -> Message:
    """The GoogleAdsFailure of a request."""
    failure = new("errors.GoogleAdsFailure", request_id=request_id)
    failure.errors.extend(_error_message(error) for error in errors)
    return failure


def status_message(target: Message, errors: Sequence[AdsError], request_id: str) -> None:
    """Fill `partial_failure_error` of an answer: a google.rpc.Status with the failure packed inside."""
    target.code = 3  # INVALID_ARGUMENT, whatever the errors are
    target.message = f"Multiple errors in 'details'. First error: {errors[0].message}"
    target.details.add().Pack(failure_message(errors, request_id))
