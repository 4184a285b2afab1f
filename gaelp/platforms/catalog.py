"""Find ad platforms by name: a connector is an entry point in the group `gaelp.platforms`.

It names a function that takes the settings and returns an `AdPlatform` of that name. Every command that needs the
platform calls it, `gaelp kill` too, so it must connect on the first call and not before.
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from gaelp.checks.raised import ends_the_program, in_words
from gaelp.config.settings import Settings
from gaelp.config.suggest import nearest
from gaelp.errors import ComponentMissing, ConfigError
from gaelp.platforms.platform import AdPlatform

__all__ = ["GROUP", "Connector", "connect_platform", "find_platform", "platform_names"]

GROUP = "gaelp.platforms"

Connector = Callable[[Settings], AdPlatform]


def platform_names() -> tuple[str, ...]:
    """The names of all installed platforms, without loading them."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def connect_platform(settings: Settings) -> AdPlatform:
    """The platform that the settings name; ConfigError if there is none, ComponentMissing if it cannot be used."""
    name = settings.platform.name
    if name is None:
        raise ConfigError(
            "platform.name: no ad platform is named, so nothing can be ordered or reconciled; set it with"
            f" platform.account. Installed: {', '.join(platform_names()) or 'none'}"
        )
    try:
        point = find_platform(name)
    except ConfigError as problem:
        raise ConfigError(f"platform.name: {problem}") from None
    return _connected(point, settings)


def find_platform(name: str) -> EntryPoint:
    """The entry point of a platform, without loading it; ConfigError if it is not installed."""
    offered = [point for point in entry_points(group=GROUP) if point.name == name]
    if not offered:
        known = platform_names()
        raise ConfigError(
            f"there is no platform {name!r}; installed: {', '.join(known) or 'none'}."
            f"{nearest(name, known)} Others are found by entry point {GROUP!r}."
        )
    if len(offered) > 1:
        raise ComponentMissing(f"{len(offered)} distributions offer a platform {name!r}: uninstall all but one")
    return offered[0]


def _connected(point: EntryPoint, settings: Settings) -> AdPlatform:
    source = f"platform {point.name!r} ({point.value})"
    try:
        platform = point.load()(settings)
    except BaseException as problem:  # reported as text: the exception itself may contain secrets
        if ends_the_program(problem):
            raise
        raise ComponentMissing(
            f"{source} cannot be used, {in_words(problem)}; fix its settings or reinstall it"
        ) from None
    if not isinstance(platform, AdPlatform) or platform.name != point.name:
        raise ComponentMissing(
            f"{source} returned a {type(platform).__name__} called {getattr(platform, 'name', None)!r}; allowed: an"
            f" AdPlatform called {point.name!r}"
        )
    return platform
