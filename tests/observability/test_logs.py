import io
import json
import logging
import subprocess
import sys
import threading
import warnings
from datetime import datetime, timedelta

import pytest
import structlog
from pydantic import SecretStr

from gaelp.errors import BadInput
from gaelp.observability import MASK, bind_run, configure, get_logger, register_secrets
from gaelp.types import RunId

SECRET = "plant3d-S3cret/é"
RUN = RunId("20261116-020641-7f3a9c")

log = get_logger("gaelp.made_at_import")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Latin1(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="latin-1")


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def fail_deep_inside() -> None:
    try:
        {}[SECRET.encode()]
    except KeyError as error:
        error.add_note(f"while using {SECRET}")
        raise RuntimeError(f"refused: opened with {SECRET}") from error


def log_exception() -> None:
    try:
        fail_deep_inside()
    except RuntimeError:
        log.exception("it failed")


def log_stdlib_exception() -> None:
    try:
        fail_deep_inside()
    except RuntimeError:
        logging.getLogger("some.library").exception("it failed with %s", SECRET)


def log_with_wrong_arguments() -> None:
    """Log a line that no handler can format; pytest's own handlers would raise, so they are put aside."""
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if type(handler).__module__.startswith("gaelp.")]
    wrong = "%d calls, %s"
    logging.getLogger("some.library").warning(wrong, SECRET)


LEAKS = {
    "message": lambda: log.info(SECRET),
    "f-string in an event": lambda: log.info(f"connecting with {SECRET} now"),
    "positional argument": lambda: log.info("connecting with %s", SECRET),
    "keyword": lambda: log.info("connecting", endpoint=SECRET),
    "keyword name": lambda: log.info("connecting", **{SECRET: 1}),
    "bound value": lambda: log.bind(endpoint=SECRET).info("connecting"),
    "nested": lambda: log.info("connecting", call={"headers": [{"x": (SECRET, {SECRET: SECRET})}]}),
    "telling key": lambda: log.info("connecting", config={"developer_token": "unregistered-token"}),
    "secret type": lambda: log.info("connecting", given=[SecretStr("unregistered-token")]),
    "bytes": lambda: log.info("connecting", body=f"a {SECRET}".encode()),
    "event that is bytes": lambda: log.info(SECRET.encode()),
    "exception as a value": lambda: log.info("failed", error=ValueError(SECRET)),
    "exception with traceback": log_exception,
    "stack": lambda: log.info("here plant3d-S3cret/é", stack_info=True),
    "stdlib message": lambda: logging.getLogger("some.library").warning("with " + SECRET),
    "stdlib argument": lambda: logging.getLogger("some.library").warning("with %s", SECRET),
    "stdlib extra": lambda: logging.getLogger("some.library").warning("with", extra={"call": {"x": SECRET}}),
    "stdlib telling extra": lambda: logging.getLogger("some.library").warning(
        "x", extra={"token": "unregistered-token"}
    ),
    "stdlib exception": log_stdlib_exception,
    "stdlib wrong arguments": log_with_wrong_arguments,
    "plain structlog": lambda: structlog.get_logger("other").warning("with", endpoint=SECRET),
    "logger name": lambda: get_logger(SECRET).info("hello"),
    "run id": lambda: log.info("hello", run_id=SECRET),
}


@pytest.mark.parametrize("style", ["human", "json"])
@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
def test_a_planted_secret_appears_in_no_log_line(leak, style, capfd):
    stream = io.StringIO()
    configure(level="debug", format=style, secrets=[SECRET], stream=stream)
    leak()
    out, err = capfd.readouterr()
    told = stream.getvalue()
    assert told
    for part in ("plant3d", "S3cret", "unregistered-token"):
        assert part not in told + out + err
    assert not out + err


@pytest.mark.parametrize("style", ["human", "json"])
def test_a_traceback_is_told_in_full_but_for_the_secret(style):
    stream = io.StringIO()
    configure(format=style, secrets=[SECRET], stream=stream)
    log_exception()
    told = stream.getvalue()
    for expected in (
        "fail_deep_inside",
        "KeyError",
        "RuntimeError: refused: opened with " + MASK,
        "while using " + MASK,
    ):
        assert expected in told


@pytest.mark.parametrize("style", ["auto", "human"])
def test_logs_are_lines_for_people_with_colours_only_in_a_terminal(style):
    piped, terminal = io.StringIO(), Terminal()
    for stream in (piped, terminal):
        configure(format=style, stream=stream)
        log.info("spent", micros=5)
    assert "spent" in piped.getvalue()
    assert "micros=5" in piped.getvalue()
    assert ("\x1b[" in piped.getvalue(), "\x1b[" in terminal.getvalue()) == (False, True)


def test_logs_are_json_lines_only_where_that_is_asked_for():
    for stream in (io.StringIO(), Terminal()):
        configure(format="json", stream=stream)
        log.info("spent", micros=5)
        assert lines(stream)[0]["micros"] == 5


def test_a_line_says_when_how_grave_where_which_run_and_what_in_this_order():
    stream = io.StringIO()
    configure(format="json", run_id=RUN, stream=stream)
    log.warning("gate held", gate="history")
    (line,) = lines(stream)
    assert list(line) == ["timestamp", "level", "logger", "run_id", "event", "gate"]
    assert datetime.fromisoformat(str(line.pop("timestamp"))).utcoffset() == timedelta(0)
    assert line == {
        "level": "warning",
        "logger": "gaelp.made_at_import",
        "run_id": RUN,
        "event": "gate held",
        "gate": "history",
    }


def test_every_line_carries_the_run_id_also_from_libraries_and_other_threads():
    stream = io.StringIO()
    configure(format="json", run_id=RUN, stream=stream)
    log.info("ours")
    logging.getLogger("some.library").warning("theirs")
    thread = threading.Thread(target=lambda: log.info("in a thread"))
    thread.start()
    thread.join()
    assert [line["run_id"] for line in lines(stream)] == [RUN] * 3


def test_a_bound_run_holds_inside_its_block_and_the_outer_one_again_after_it():
    stream = io.StringIO()
    configure(format="json", run_id=RunId("outer"), stream=stream)
    with bind_run(RunId("one")):
        log.info("a")
        with bind_run(RunId("two")):
            logging.getLogger("some.library").warning("b")
        log.info("c")
    log.info("d")
    bind_run(RunId("rest"))
    log.info("e")
    assert [line["run_id"] for line in lines(stream)] == ["one", "two", "one", "outer", "rest"]


def test_outside_any_run_a_line_claims_none():
    stream = io.StringIO()
    configure(format="json", stream=stream)
    log.info("starting")
    assert "run_id" not in lines(stream)[0]


def test_the_level_holds_for_our_lines_and_libraries_are_heard_from_warning_up():
    stream = io.StringIO()
    configure(level="DEBUG", format="json", stream=stream)
    for logger in (log, get_logger("flows.pilot"), logging.getLogger("some.library")):
        logger.debug("fine")
        logger.warning("grave")
    told = [(line["logger"], line["level"]) for line in lines(stream)]
    ours = [("gaelp.made_at_import", "debug"), ("gaelp.made_at_import", "warning")]
    assert told == [
        *ours,
        ("gaelp.flows.pilot", "debug"),
        ("gaelp.flows.pilot", "warning"),
        ("some.library", "warning"),
    ]
    configure(level="error", format="json", stream=stream)
    log.warning("unheard")
    logging.getLogger("some.library").warning("unheard")
    assert len(lines(stream)) == len(told)


def test_python_warnings_come_out_structured_and_without_secrets():
    stream = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        configure(format="json", secrets=[SECRET], stream=stream)
        warnings.warn(f"old call with {SECRET}", DeprecationWarning, stacklevel=1)
    (line,) = lines(stream)
    assert line["logger"] == "py.warnings"
    assert f"DeprecationWarning: old call with {MASK}" in str(line["event"])


def test_configuring_again_changes_the_output_but_forgets_no_secret():
    first, second = io.StringIO(), io.StringIO()
    configure(format="json", secrets=[SECRET], stream=first)
    configure(format="json", stream=second)
    log.info("with", x=SECRET)
    assert not first.getvalue()
    assert [line["x"] for line in lines(second)] == [MASK]


def test_a_secret_that_comes_up_later_is_hidden_from_then_on():
    stream = io.StringIO()
    configure(format="json", stream=stream)
    register_secrets(["refreshed-1234"])
    log.info("now refreshed-1234")
    assert lines(stream)[0]["event"] == f"now {MASK}"


def test_a_secret_too_short_to_hide_in_text_is_told_of_but_not_shown():
    stream = io.StringIO()
    configure(format="json", secrets=["zq"], stream=stream)
    assert "1 registered secret(s) below 4 characters" in str(lines(stream)[0]["event"])
    assert "zq" not in stream.getvalue()


@pytest.mark.parametrize("style", ["human", "json"])
@pytest.mark.parametrize("secret", ["event", "level", "info", "timestamp"])
def test_a_secret_that_is_a_word_of_the_log_itself_does_not_break_it(secret, style):
    stream = io.StringIO()
    configure(format=style, secrets=[secret], stream=stream)
    log.info("still told")
    assert "still told" in stream.getvalue()


def test_a_handler_left_by_basic_config_is_replaced():
    stream, stray = io.StringIO(), io.StringIO()
    logging.getLogger().addHandler(logging.StreamHandler(stray))
    configure(format="json", stream=stream)
    logging.getLogger("some.library").warning("once")
    assert len(lines(stream)) == 1
    assert not stray.getvalue()


def test_a_line_that_cannot_be_rendered_is_reported_in_its_place():
    stream = io.StringIO()
    configure(format="json", stream=stream)
    log_with_wrong_arguments()
    (line,) = lines(stream)
    assert line["level"] == "error"
    assert "test_logs.py" in str(line["event"])
    assert "TypeError: %d format" in str(line["event"])


def test_a_stream_that_cannot_write_a_character_gets_it_escaped():
    stream = Latin1()
    configure(format="human", stream=stream)
    log.info("spent €5")
    assert b"spent \\u20ac5" in stream.buffer.getvalue()


def test_a_closed_stream_does_not_stop_the_work():
    stream = io.StringIO()
    configure(stream=stream)
    stream.close()
    log.info("nobody listens")


def test_logs_follow_stderr_and_leave_stdout_alone(capsys, monkeypatch):
    configure(format="json")
    log.info("first")
    replaced = io.StringIO()
    monkeypatch.setattr(sys, "stderr", replaced)
    log.info("second")
    assert "second" in replaced.getvalue()
    monkeypatch.undo()
    out, err = capsys.readouterr()
    assert not out
    assert "first" in err


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [({"level": "loud"}, "debug, info"), ({"format": "xml"}, "auto, human"), ({"secrets": "hunter2"}, "list of str")],
)
def test_wrong_settings_are_refused_with_what_is_allowed(wrong, allowed):
    with pytest.raises(BadInput, match=allowed):
        configure(**wrong)


def test_without_configuration_only_warnings_go_to_stderr_and_nothing_to_stdout():
    program = (
        "from gaelp.observability import get_logger as g; g('x').info('quiet'); g('x').warning('loud', token='t0p')"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60)
    assert not done.stdout
    assert "loud" in done.stderr
    assert "quiet" not in done.stderr
    assert "t0p" not in done.stderr
