"""What holds for all tests."""

import gc
import importlib.util
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from gaelp.cli import output
from gaelp.observability.mlflow_client import MLFLOW_ENVIRONMENT

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("gaelp", settings(), deadline=None)
settings.load_profile("gaelp")


# Files whose tests wait for servers or train for long. They start first: a worker that gets one of them last would keep
# the others waiting (`make test` runs with --no-loadscope-reorder).
LONGEST_FIRST = (
    "flows/test_full_pipeline",
    "flows/test_gate_attacks",
    "learning",  # this and the next need no market, which is compiled meanwhile
    "storage",
    "faults/test_kill_training",
    "flows",
    "faults",
    "cli",
    "phases",
)


# Files whose tests talk to one `gaelp up`. In one process they share it; each further one takes half a minute to start.
ON_ONE_SERVER = {
    f"tests/flows/test_{name}.py"
    for name in ("full_pipeline", "gate_attacks", "guarded_server", "connection", "safety_watch_events", "browser")
}


class FilesOnOneServerTogether(LoadFileScheduling):
    """Each file in one process, and all files on one server in the same."""

    def _split_scope(self, nodeid):
        file = super()._split_scope(nodeid)
        return "the files on one server" if file in ON_ONE_SERVER else file


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is nothing to schedule
def pytest_xdist_make_scheduler(config, log):
    """Schedule by file, where the caller asks for it."""
    return FilesOnOneServerTogether(config, log) if config.getvalue("dist") == "loadfile" else None


_COMPILING: list[subprocess.Popen] = []  # none or one


def pytest_sessionstart(session):
    """Compile the market while several workers collect, once for all of them; in a worker there is nothing to do."""
    if getattr(session.config.option, "numprocesses", None) and not hasattr(session.config, "workerinput"):
        script = Path(__file__).with_name("compile_market.py")
        _COMPILING.append(subprocess.Popen([sys.executable, script], stdout=subprocess.DEVNULL))


def pytest_sessionfinish():
    """End the compiler, if the tests were faster."""
    while _COMPILING:
        compiler = _COMPILING.pop()
        compiler.terminate()
        compiler.wait()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector away from what is imported and collected: all of it stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items):
    """Sort by expected length of the file; within a file the order stays."""
    items.sort(key=lambda item: _start_place(item.nodeid.split("::")[0]))


@cache
def _start_place(path):
    return next(
        (place for place, part in enumerate(LONGEST_FIRST) if path.startswith(f"tests/{part}")), len(LONGEST_FIRST)
    )


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_reaches_what_is_started_here():
    """A shell starts background jobs deaf to Ctrl-C, and their children stay so; some tests press it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _sentences_in_one_line(monkeypatch):
    """Sentences that commands print are not wrapped, so that tests quote them as they are written."""
    monkeypatch.setattr(output, "_text_columns", lambda _: 1_000_000)


@pytest.fixture
def sentences_as_wide_as_the_screen(_sentences_in_one_line, monkeypatch):
    """Sentences are wrapped, as people see them."""
    monkeypatch.setattr(output, "_text_columns", output.columns_of)


def _loaded(path):
    """A module of the tests, loaded once for all folders of tests."""
    name = Path(path).stem
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).resolve().parent / path)
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def databases():
    """tests/budget/ledger_databases.py; loaded once, so that all tests share one Postgres."""
    return _loaded("budget/ledger_databases.py")


@pytest.fixture(scope="session")
def old_home():
    """A home that the code before gaelp/database wrote; copy it before use."""
    return Path(__file__).resolve().parent / "fixtures" / "home-before-database" / "home"


@pytest.fixture(scope="session")
def random_walks():
    """tests/random_walks.py."""
    return _loaded("random_walks.py")


@pytest.fixture(scope="session")
def gate_evidence():
    """tests/gate_evidence.py."""
    return _loaded("gate_evidence.py")


@pytest.fixture(scope="session")
def log_rows():
    """tests/history/log_rows.py."""
    return _loaded("history/log_rows.py")


@pytest.fixture(scope="session")
def pilot_cases():
    """tests/pilot/pilot_cases.py."""
    return _loaded("pilot/pilot_cases.py")


@pytest.fixture(scope="session")
def registry_world():
    """tests/registry_world.py; what MLflow is given through the environment is gone afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in MLFLOW_ENVIRONMENT.items():
            patch.setenv(name, value)
        yield _loaded("registry_world.py")


@pytest.fixture(params=["sqlite", "postgres"])
def database_kind(request):
    """What holds on one database holds on the other."""
    return request.param


@pytest.fixture
def place(database_kind, databases):
    """An empty database: a path or a URL."""
    return databases.fresh_place(database_kind)


_CONNECTOR = """
import importlib.util
import sys
from pathlib import Path

from gaelp.clock import SystemClock


def connect(settings):
    if "platform_double" not in sys.modules:
        spec = importlib.util.spec_from_file_location("platform_double", {path!r})
        sys.modules["platform_double"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["platform_double"].PlatformDouble(SystemClock(), path=Path(settings.home) / "double.pickle")


def fails(settings):
    raise OSError("no credentials")


def other(settings):
    return object()
"""
_TERMS = """
platforms:
  - {platform: double, day_percent: 200, period: month, period_percent: 3040, step_micros: 10000, why: as Google}
"""


@pytest.fixture
def installed_double(tmp_path_factory, monkeypatch):
    """The double of an ad platform as an installed connector: `double`, and two that do not work.

    The current folder is one with its terms. What it has is kept in a file below the home.
    """
    folder = tmp_path_factory.mktemp("installed")
    here = tmp_path_factory.mktemp("here")
    path = Path(__file__).resolve().parent / "platforms" / "platform_double.py"
    (folder / "double_connector.py").write_text(_CONNECTOR.format(path=str(path)))
    info = folder / "double-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: double\nVersion: 1.2\n")
    names = {"double": "connect", "broken": "fails", "strange": "other"}
    lines = [f"{name} = double_connector:{function}" for name, function in names.items()]
    (info / "entry_points.txt").write_text("\n".join(["[gaelp.platforms]", *lines, ""]))
    (here / "configs" / "budget").mkdir(parents=True)
    (here / "configs" / "budget" / "platforms.yaml").write_text(_TERMS)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(here)
    yield here
    sys.modules.pop("double_connector", None)


@pytest.fixture(scope="session")
def pilot_home():
    """tests/phases/pilot_home.py."""
    return _loaded("phases/pilot_home.py")


@pytest.fixture(scope="session")
def scale_home():
    """tests/phases/scale_home.py."""
    return _loaded("phases/scale_home.py")


@pytest.fixture(scope="session")
def history_home():
    """tests/phases/history_home.py."""
    return _loaded("phases/history_home.py")


@pytest.fixture(scope="session")
def exported_agents():
    """tests/exported_agents.py."""
    return _loaded("exported_agents.py")
