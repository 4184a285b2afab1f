"""Progress survives being saved as plain data, and counts survive a rollback."""

import json
from collections import Counter

import numpy as np

from gaelp.training.progress import LearnerScale, TrainingProgress
from gaelp.training.scores import score


def somewhere():
    return TrainingProgress(
        round=7,
        steps=7000,
        scale=LearnerScale(learning_rate=0.25, minibatch=0.5),
        rollbacks=2,
        clipped_rewards=11,
        skipped=Counter(loss=3),
        best_round=4,
        best=score(np.array([0.1, 0.3])),
        since_best=1,
        below_reference=2,
    )


def test_a_saved_progress_is_restored_whole_even_through_json():
    for progress in (somewhere(), TrainingProgress()):
        assert TrainingProgress.restore(json.loads(json.dumps(progress.state()))) == progress


def test_a_saved_progress_does_not_change_with_what_happens_afterwards():
    progress = somewhere()
    saved = progress.state()
    progress.skipped["loss"] += 1
    assert saved["skipped"] == {"loss": 3}


def test_before_anything_was_validated_the_rule_is_the_best():
    assert (TrainingProgress().best_round, TrainingProgress().best) == (-1, None)


def test_going_back_keeps_what_was_counted_on_the_way_and_counts_itself():
    earlier, failed = TrainingProgress(round=5, steps=5000, rollbacks=1, clipped_rewards=4), somewhere()
    earlier.carry_over(failed)
    assert (earlier.rollbacks, earlier.clipped_rewards, earlier.skipped) == (3, 11, Counter(loss=3))
    assert (earlier.round, earlier.steps, earlier.best) == (5, 5000, None)
