"""A policy that contradicts itself is refused when it is loaded."""

import pytest

from gaelp.config.places import find_file
from gaelp.content import load_policy
from gaelp.errors import ConfigError


@pytest.mark.parametrize(
    ("old", "new", "seen"),
    [
        ("    why: Words made to demean a group of people.\n", "", "why"),
        ("    severity: block\n", "    severity: maybe\n", "severity"),
        ("id: slurs", "id: swearing", "swearing"),
        ("review_from: 0.6", "review_from: 0.99", "review_from"),
        ("languages: [en]", "languages: [en, sv]", "common_words: none for sv"),
    ],
)
def test_a_policy_that_is_wrong_is_refused_with_its_reason(tmp_path, old, new, seen):
    text = find_file("policy", "content").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "policy.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=seen):
        load_policy(str(path))
