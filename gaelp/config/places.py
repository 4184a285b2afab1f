"""Where configuration files are looked for: configs/ of the current folder, then configs/ beside the package."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gaelp.config.suggest import nearest
from gaelp.errors import BadInput, ConfigError

__all__ = ["absolute", "config_folders", "find_file", "find_folder", "names_in", "repository_root", "shown"]

_SUFFIX = ".yaml"


def repository_root() -> Path:
    """The folder that holds the package, its configs/ and its constraints.txt in a checkout."""
    return Path(__file__).resolve().parents[2]


def config_folders() -> tuple[Path, ...]:
    """Both configs/ folders, the current folder's first, so that a project's own file wins over the shipped one.

    A current folder that was deleted holds none.
    """
    here = _current_folder()
    own = () if here is None else (here / "configs",)
    return tuple(dict.fromkeys((*own, repository_root() / "configs")))


def absolute(path: str | Path) -> Path:
    """A path from the root on, with ~ for the user's folder; ~nobody stays as it is and is then not found."""
    given = Path(path)
    with suppress(RuntimeError):
        given = given.expanduser()
    if given.is_absolute():
        return given
    here = _current_folder()
    if here is None:
        raise ConfigError(
            f"{str(path)!r} is below the current folder, which is gone: go to a folder that is there, or name an"
            " absolute path"
        )
    return here / given


def shown(path: Path) -> str:
    """A path the way a reader wants it: relative below the current folder, whole elsewhere."""
    here = _current_folder()
    return path.relative_to(here).as_posix() if here and path.is_relative_to(here) else path.as_posix()


def names_in(
    folder: str | Path = "", *, folders: bool = False, suits: Callable[[Path], bool] | None = None
) -> tuple[str, ...]:
    """Every name that find_file (or, for folders, find_folder) accepts below configs/<folder>, sorted."""
    entries = [entry for place in _places(folder) if place.is_dir() for entry in place.iterdir()]
    wanted = [entry for entry in entries if (entry.is_dir() if folders else entry.suffix == _SUFFIX)]
    return tuple(sorted({entry.stem for entry in wanted if suits is None or suits(entry)}))


def find_file(path_or_name: str | Path, folder: str | Path = "", *, error: type[BadInput] = ConfigError) -> Path:
    """The YAML file meant by a path, or by a name below configs/<folder> (or below an absolute folder)."""
    candidates = _candidates(path_or_name, folder, suffix=_SUFFIX)
    return _first(candidates, path_or_name, folder, want_folder=False, error=error)


def find_folder(
    path_or_name: str | Path,
    folder: str | Path = "",
    *,
    error: type[BadInput] = ConfigError,
    suits: Callable[[Path], bool] | None = None,
) -> Path:
    """The folder meant by a path, or by a name below configs/<folder> (or below an absolute folder).

    Where there is none, only folders that `suits` holds for are offered instead.
    """
    candidates = _candidates(path_or_name, folder, suffix="")
    return _first(candidates, path_or_name, folder, want_folder=True, error=error, suits=suits)


def _current_folder() -> Path | None:
    """The current folder; nothing where it was deleted while somebody stood in it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def _places(folder: str | Path) -> tuple[Path, ...]:
    return (Path(folder),) if Path(folder).is_absolute() else tuple(place / folder for place in config_folders())


def _is_path(path_or_name: str | Path) -> bool:
    text = str(path_or_name)
    return isinstance(path_or_name, Path) or "/" in text or "\\" in text or text.endswith((_SUFFIX, ".yml"))


def _candidates(path_or_name: str | Path, folder: str | Path, *, suffix: str) -> tuple[Path, ...]:
    if not str(path_or_name).strip():
        return ()
    if _is_path(path_or_name):
        return (absolute(path_or_name),)
    return tuple(place / f"{path_or_name}{suffix}" for place in _places(folder))


def _first(
    candidates: tuple[Path, ...],
    asked: str | Path,
    folder: str | Path,
    *,
    want_folder: bool,
    error: type[BadInput],
    suits: Callable[[Path], bool] | None = None,
) -> Path:
    kind, other = ("folder", "file") if want_folder else ("file", "folder")
    try:
        for path in candidates:
            if path.is_dir() if want_folder else path.is_file():
                return path
        wrong_kind = [shown(path) for path in candidates if path.exists()]
    except OSError as problem:
        raise error(f"{str(asked)!r} cannot be looked up: {problem.strerror}. Name a readable {kind}.") from None
    if wrong_kind:
        raise error(f"{', '.join(wrong_kind)} is a {other}; allowed: a {kind}. Name a {kind} instead.")
    searched = ", ".join(shown(path) for path in candidates) or "nowhere, the name is empty"
    names = names_in(folder, folders=want_folder, suits=suits)
    known = f" Known names: {', '.join(names)}." if names else ""
    meant = Path(asked).stem if _is_path(asked) else str(asked)  # known names have neither folder nor suffix
    raise error(f"{str(asked)!r} not found; searched: {searched}.{known}{nearest(meant, names)}")
