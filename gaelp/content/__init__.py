"""Brand and content safety of adverts: checked before anything is published, and refused in doubt."""

from gaelp.content.check import ContentChecker, load_checker
from gaelp.content.creative import Audience, Creative, creative_hash
from gaelp.content.creative_file import read_creatives
from gaelp.content.policy import Brand, ContentPolicy, load_brand, load_policy
from gaelp.content.review_queue import QueuedCase, ReviewDecision, ReviewQueue
from gaelp.content.verdict import ContentFinding, ContentVerdict

__all__ = [
    "Audience",
    "Brand",
    "ContentChecker",
    "ContentFinding",
    "ContentPolicy",
    "ContentVerdict",
    "Creative",
    "QueuedCase",
    "ReviewDecision",
    "ReviewQueue",
    "creative_hash",
    "load_brand",
    "load_checker",
    "load_policy",
    "read_creatives",
]
