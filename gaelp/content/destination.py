"""Where an advert leads: both addresses have to be honest, and belong to the advertiser."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from gaelp.content.creative import Creative
from gaelp.content.policy import Brand
from gaelp.content.verdict import Finding

__all__ = ["check_destination", "host_of"]

_HOST = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")


def check_destination(creative: Creative, brand: Brand | None) -> list[Finding]:
    """Addresses that cannot be read, imitate another by their letters, differ, or lie outside the allowed domains."""
    urls = {field: getattr(creative, field) for field in ("display_url", "landing_url")}
    hosts = {field: host_of(url) for field, url in urls.items() if url.strip()}
    return [
        *(_finding(field, urls[field], _UNREADABLE) for field, host in hosts.items() if not host),
        *_imitations(hosts),
        *_mismatch(hosts),
        *_foreign(hosts, brand),
    ]


def host_of(url: str) -> str:
    """The host of an address with or without https://, in lower case; empty where there is no plain one."""
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host = (parts.hostname or "").rstrip(".")
        honest = parts.scheme in ("", "http", "https") and parts.username is None and bool(_HOST.fullmatch(host))
    except ValueError:
        return ""
    return host if honest else ""


_UNREADABLE = "The address is not a plain web address with a host of ASCII letters: nobody can tell where it leads."


def _imitations(hosts: dict[str, str]) -> Iterator[Finding]:
    for field, host in hosts.items():
        if any(label.startswith("xn--") for label in host.split(".")):
            yield _finding(field, host, "An encoded (xn--) host may be drawn like another's. A person has to look.")


def _mismatch(hosts: dict[str, str]) -> Iterator[Finding]:
    display, landing = (hosts.get(field, "") for field in ("display_url", "landing_url"))
    if display and landing and not (_within(landing, _bare(display)) or _within(display, _bare(landing))):
        why = f"The advert shows {display} and leads to {landing}: platforms refuse a destination that differs."
        yield _finding("landing_url", landing, why)


def _foreign(hosts: dict[str, str], brand: Brand | None) -> Iterator[Finding]:
    for field, host in hosts.items():
        if brand and host and not any(_within(host, domain) for domain in brand.allowed_domains):
            allowed = ", ".join(brand.allowed_domains)
            yield _finding(field, host, f"The host is none of {brand.advertiser}'s; allowed: {allowed}.")


def _within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def _bare(host: str) -> str:
    return host.removeprefix("www.")


def _finding(field: str, excerpt: str, why: str) -> Finding:
    return Finding(
        rule="destination", category="destination", severity="block", field=field, excerpt=excerpt[:200], why=why
    )
