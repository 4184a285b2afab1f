"""Running the job again with a later `as_of` corrects earlier rows."""


def test_a_revision_that_is_known_later_corrects_the_row(run_words, tmp_path, results_of):
    def values():
        (table,) = results_of(tmp_path / "clicks").values()
        return {row["click"]: row["value_micros"] for row in table.to_pylist() if row["conversions"]}

    first = run_words("attribution", tmp_path, "--as_of", "2026-01-02T12:00:00Z")
    assert values() == {"k13": 9, "k24": 7}
    assert first.counters["dead_letters"] == 1  # its click is unknown
    again = run_words("attribution", tmp_path, "--as_of", "2026-03-01T00:00:00Z")
    assert values() == {"k13": 4, "k24": 7}
    assert (again.computed, again.skipped) == (1, 0)


def test_other_days_are_left_out(run_words, tmp_path, results_of):
    run_words("attribution", tmp_path, "--last_day", "2026-01-01")
    (table,) = results_of(tmp_path / "clicks").values()
    assert {row["click"][:2] for row in table.to_pylist()} == {"k1"}
