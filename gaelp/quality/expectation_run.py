"""Run expectations on a data frame with great_expectations: offline, without telemetry, without files."""

import warnings
from collections.abc import Sequence
from importlib import import_module
from itertools import count
from typing import Any, NamedTuple

import pandas as pd

from gaelp.config.environment import process_environment
from gaelp.errors import ConfigError
from gaelp.quality.suite import Expectation

__all__ = ["ExpectationRun", "RanExpectation", "run_expectations"]

SAMPLE_ROWS = 10


class RanExpectation(NamedTuple):
    """The outcome of one expectation."""

    holds: bool
    observed: str  # what was seen, in a few words
    failing_rows: int
    sample: tuple[int, ...]  # positions of the first failing rows


class ExpectationRun(NamedTuple):
    """The outcomes in the order of the expectations, and the page that shows them."""

    outcomes: tuple[RanExpectation, ...]
    page: str  # HTML


def run_expectations(frame: pd.DataFrame, expectations: Sequence[Expectation], name: str) -> ExpectationRun:
    """Check every expectation; ConfigError if one cannot be run, for then nothing is known about the data."""
    process_environment()["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # great_expectations uses parts of pandas that will go
        gx = import_module("great_expectations")  # takes 4 seconds, so only when data are checked
        # Added one by one, a second expectation of a type and column would replace the first without a word.
        suite = gx.ExpectationSuite(name=name, expectations=list(map(_configuration, expectations, count())))
        # Ids instead of positions in its results would take 35 s for a million failing rows instead of 2.
        wanted = {"result_format": "SUMMARY", "partial_unexpected_count": SAMPLE_ROWS}
        result = _batch(gx, frame).validate(suite, result_format=wanted)
        page = _page(result)
    results = sorted(result.results, key=lambda each: each.expectation_config.meta["place"])
    outcomes = (_outcome(expectation, each) for expectation, each in zip(expectations, results, strict=True))
    return ExpectationRun(tuple(outcomes), page)


def _batch(gx: Any, frame: pd.DataFrame) -> Any:
    types = import_module("great_expectations.data_context.types.base")
    # Its own defaults leave a temporary folder behind for each context.
    stores = types.InMemoryStoreBackendDefaults(init_temp_docs_sites=False)
    settings = types.DataContextConfig(
        store_backend_defaults=stores,
        progress_bars=types.ProgressBarsConfig(globally=False),
        analytics_enabled=False,
    )
    context = gx.get_context(mode="ephemeral", project_config=settings)
    asset = context.data_sources.add_pandas("frames").add_dataframe_asset("window")
    return asset.add_batch_definition_whole_dataframe("whole").get_batch({"dataframe": frame})


def _configuration(expectation: Expectation, place: int) -> dict[str, Any]:
    meta = {"why": expectation.why, "place": place}
    return {"type": expectation.type, "kwargs": dict(expectation.kwargs), "meta": meta}


def _outcome(expectation: Expectation, result: Any) -> RanExpectation:
    problem = result.exception_info or {}
    details = [problem] if "raised_exception" in problem else list(problem.values())
    raised = [str(each.get("exception_message")) for each in details if each.get("raised_exception")]
    if raised:
        raise ConfigError(f"{expectation.type} {expectation.kwargs} cannot be run: {raised[0]}. Correct the suite.")
    figures = result.result
    observed = figures.get("observed_value", figures.get("partial_unexpected_list", ""))
    text = "" if result.success else str(figures.get("details", {}).get("mismatched", observed))
    return RanExpectation(
        holds=bool(result.success),
        observed=text[:300],
        failing_rows=int(figures.get("unexpected_count", 0) or 0),
        sample=tuple(int(row) for row in figures.get("partial_unexpected_index_list", ()) or ())[:SAMPLE_ROWS],
    )


def _page(result: Any) -> str:
    renderer = import_module("great_expectations.render.renderer").ValidationResultsPageRenderer()
    view = import_module("great_expectations.render.view").DefaultJinjaPageView()
    return str(view.render(renderer.render(result)))
