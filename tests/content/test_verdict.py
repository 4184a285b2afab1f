import pytest

from gaelp.content.verdict import ContentFinding, case_of, overall


def finding(severity, why="because"):
    return ContentFinding(rule="r", category="c", severity=severity, why=why)


@pytest.mark.parametrize(
    ("severities", "outcome"), [((), "allow"), (("review",), "review"), (("review", "block"), "block")]
)
def test_the_gravest_finding_decides(severities, outcome):
    assert overall(map(finding, severities)) == outcome


def test_a_case_is_the_creative_and_its_findings_in_any_order():
    findings = [finding("review"), finding("block", "another")]
    assert case_of("a", findings) == case_of("a", findings[::-1])
    assert len({case_of("a", findings), case_of("b", findings), case_of("a", findings[:1])}) == 3
