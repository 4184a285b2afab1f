"""Options are typed and explained; what is not ours is passed on to Beam, with the runner pinned."""

import pytest

from beam_pipelines.episode_metrics import EpisodeMetricsOptions
from beam_pipelines.options import parse_options
from gaelp.errors import BadInput

WORDS = ["--decisions", "d/**.parquet", "--output", "out"]


def parse(*words):
    return parse_options(EpisodeMetricsOptions, [*WORDS, *words], job="episode_metrics", about="About this job.")


def test_the_runner_is_pinned_unless_another_is_asked_for():
    options, for_beam = parse("--first_day", "2026-01-02", "--temp_location=/tmp/x")
    assert str(options.first_day) == "2026-01-02"
    assert for_beam == ["--temp_location=/tmp/x", "--runner=FnApiRunner"]
    assert parse("--runner=PortableRunner")[1] == ["--runner=PortableRunner"]


def test_a_wrong_value_is_named():
    with pytest.raises(BadInput, match="--campaign_shards: Input should be less than or equal to 999"):
        parse("--campaign_shards", "1000")


def test_help_teaches(capsys):
    with pytest.raises(SystemExit):
        parse("--help")
    text = capsys.readouterr().out
    for part in ("About this job.", "--decisions", "rows of one Arrow table", "A finished shard is not computed again"):
        assert part in text
