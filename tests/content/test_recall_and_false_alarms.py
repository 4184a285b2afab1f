"""How much is caught and how much is alarmed at, on the labelled creatives, those held out counted apart."""

from collections import Counter

import pytest


@pytest.fixture(scope="module")
def judged(labelled, checker):
    return [(example, checker.check(example.creative)) for example in labelled.labelled_creatives()]


def caught(one, verdict):
    """Not allowed, and for the right reason: that the words were hidden, or badly written, does not count."""
    return verdict.outcome != "allow" and any(finding.category == one.category for finding in verdict.findings)


def test_the_set_is_as_large_and_as_mixed_as_it_claims(labelled):
    creatives = labelled.labelled_creatives()
    clean = [creative for creative in creatives if not creative.category]
    assert len(creatives) >= 300
    assert len(clean) >= 120
    assert {creative.disguise for creative in creatives} == {"", "plain", *labelled.DISGUISES}
    assert len({creative.creative.id for creative in creatives}) == len(creatives)
    assert labelled.labelled_creatives() == creatives


@pytest.mark.parametrize("part", ["tuning", "held-out"])
def test_recall_on_forbidden_terms_and_false_alarms_on_clean_copy(judged, part, capsys):
    bad = [(one, verdict) for one, verdict in judged if one.category and one.part == part]
    clean = [(one, verdict) for one, verdict in judged if not one.category and one.part == part]
    missed = [one.creative.id for one, verdict in bad if not caught(one, verdict)]
    alarms = [one.creative.id for one, verdict in clean if verdict.outcome != "allow"]
    recall, false_alarms = 1 - len(missed) / len(bad), len(alarms) / len(clean)
    with capsys.disabled():
        print(  # noqa: T201 - the two figures are what this test is for
            f"\n{part}: recall {recall:.3f} of {len(bad)} forbidden,"
            f" false alarms {false_alarms:.3f} of {len(clean)} clean"
        )
    assert recall >= 0.98, missed
    assert false_alarms <= 0.02, alarms


def test_no_disguise_is_a_hole(judged):
    missed = Counter(one.disguise for one, verdict in judged if one.category and not caught(one, verdict))
    seen = Counter(one.disguise for one, _ in judged if one.category)
    assert all(missed[disguise] <= 0.1 * count for disguise, count in seen.items()), missed


def test_every_finding_shows_the_words_it_is_about(judged):
    for one, verdict in judged:
        for finding in verdict.findings:
            if finding.category == one.category and finding.end:
                text = getattr(one.creative, finding.field)
                assert text[finding.start : finding.end] == finding.excerpt
                assert finding.why
