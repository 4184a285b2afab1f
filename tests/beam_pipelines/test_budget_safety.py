"""The job writes breaches of campaigns and of accounts, and a verdict for each campaign."""

import pytest

from beam_pipelines.budget_safety import run
from gaelp.errors import BadInput, ConfigError


def test_an_account_over_its_cap_is_a_breach_though_its_campaign_is_not(run_words, tmp_path, results_of):
    run_words("budget_safety", tmp_path, "--campaign_shards", "2")
    results = results_of(tmp_path)
    (breach,) = results["account_breaches/accounts.parquet"].to_pylist()
    assert (breach["kind"], breach["account"], breach["value"]) == ("account-overspend", "acc", 9_600_000)
    rows = {kind: [row for name, table in results.items() if name.startswith(f"{kind}/") for row in table.to_pylist()]
            for kind in ("breaches", "verdicts", "campaign_days")}  # fmt: skip
    assert rows["breaches"] == []
    assert [row["decision"] for row in rows["verdicts"]] == ["allow"]
    assert [(row["event_micros"], row["report_micros"]) for row in rows["campaign_days"]] == [(9_600_000, 9_600_000)]


def test_missing_limits_and_missing_input_are_refused(tmp_path):
    words = ["--limits", str(tmp_path / "none.yaml"), "--as_of", "2026-01-10T00:00:00Z", "--output", str(tmp_path)]
    with pytest.raises(BadInput, match="give --spend_events, --hour_reports or both"):
        run(words)
    with pytest.raises(ConfigError, match=r"none\.yaml"):
        run([*words, "--spend_events", "x"])
