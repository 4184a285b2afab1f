"""Every method the Google front answers: its name, messages and handler, and whose account a request concerns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gaelp.sandbox.google import account_service, experiment_service, mutate_service, search_service
from gaelp.sandbox.google.messages import API, Message, new
from gaelp.sandbox.google.resource_kinds import KINDS
from gaelp.sandbox.google.session import AdsHandler

__all__ = ["METHODS", "AdsMethod"]


def _customer_id(request: Message) -> str:
    return str(request.customer_id)


def _of_resource(field: str) -> Callable[[Message], str]:
    """The customer in a resource name; malformed names give an id that no account has."""

    def customer(request: Message) -> str:
        parts = getattr(request, field).split("/")
        return parts[1] if len(parts) > 1 else ""

    return customer


@dataclass(frozen=True, slots=True)
class AdsMethod:
    """One method of the API."""

    name: str  # such as CampaignService.MutateCampaigns
    request: str  # name of its message, such as services.MutateCampaignsRequest
    handle: AdsHandler
    customer: Callable[[Message], str] | None = _customer_id  # None if the method concerns no account
    is_stream: bool = False
    is_read: bool = False

    @property
    def path(self) -> str:
        """As gRPC names it."""
        service, method = self.name.split(".")
        return f"/{API}.services.{service}/{method}"

    def parse(self, data: bytes) -> Message:
        """The request."""
        request = new(self.request)
        request.ParseFromString(data)
        return request


def _all() -> list[AdsMethod]:
    own = [
        AdsMethod(
            f"{kind.service}.{kind.method}", f"services.{kind.method}Request", mutate_service.mutate_handler(kind)
        )
        for kind in KINDS.values()
    ]
    experiment, by_name = "ExperimentService", _of_resource("resource_name")
    schedule, promote = experiment_service.schedule, experiment_service.promote
    end, graduate = experiment_service.end, experiment_service.graduate
    errors = experiment_service.list_async_errors
    return [
        *own,
        AdsMethod("AdService.MutateAds", "services.MutateAdsRequest", mutate_service.mutate_ads),
        AdsMethod("GoogleAdsService.Mutate", "services.MutateGoogleAdsRequest", mutate_service.mutate_everything),
        AdsMethod("GoogleAdsService.Search", "services.SearchGoogleAdsRequest", search_service.search, is_read=True),
        AdsMethod(
            "GoogleAdsService.SearchStream",
            "services.SearchGoogleAdsStreamRequest",
            search_service.search_stream,
            is_stream=True,
            is_read=True,
        ),
        AdsMethod(f"{experiment}.ScheduleExperiment", "services.ScheduleExperimentRequest", schedule, by_name),
        AdsMethod(f"{experiment}.PromoteExperiment", "services.PromoteExperimentRequest", promote, by_name),
        AdsMethod(f"{experiment}.EndExperiment", "services.EndExperimentRequest", end, _of_resource("experiment")),
        AdsMethod(
            f"{experiment}.GraduateExperiment",
            "services.GraduateExperimentRequest",
            graduate,
            _of_resource("experiment"),
        ),
        AdsMethod(
            f"{experiment}.ListExperimentAsyncErrors",
            "services.ListExperimentAsyncErrorsRequest",
            errors,
            by_name,
            is_read=True,
        ),
        AdsMethod(
            "CustomerService.ListAccessibleCustomers",
            "services.ListAccessibleCustomersRequest",
            account_service.list_accessible_customers,
            customer=None,
            is_read=True,
        ),
        AdsMethod(
            "InvoiceService.ListInvoices", "services.ListInvoicesRequest", account_service.list_invoices, is_read=True
        ),
    ]


METHODS: Mapping[str, AdsMethod] = MappingProxyType({method.path: method for method in _all()})
