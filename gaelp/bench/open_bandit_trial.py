"""Relative errors of the off-policy estimators on the Open Bandit Dataset, from one logging policy to another.

Saito, Aihara, Matsutani and Narita 2020, "Open Bandit Dataset and Pipeline: towards realistic and reproducible
off-policy evaluation". A folder holds one log for each policy, `random/all.csv` and `bts/all.csv`, with the features of
the items in `item_context.csv`. The logging policy is the uniform one. The target is Bernoulli Thompson sampling; its
value is known, because its own log holds the clicks that it got. Random numbers come from numpy's old generator, which
the published figures were made with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize

from gaelp.arrays import Floats, Ints
from gaelp.config.base import Frozen
from gaelp.errors import DataError
from gaelp.history import estimators
from gaelp.history.policy_value import PolicyValue
from gaelp.history.slope import choose_by_slope
from gaelp.history.weights import importance_weights

__all__ = ["OpenBanditLog", "RelativeError", "read_open_bandit", "relative_errors", "thompson_distribution"]

_CANDIDATES = (10.0, 50.0, 100.0, 500.0, 1000.0, 5000.0, 10000.0, np.inf)  # of Switch-DR and DRos
_FOLDS, _FOLD_SEED = 3, 12345
_CHUNK = 10_000


@dataclass(frozen=True, slots=True)
class OpenBanditLog:
    """One row for each item shown: item, position (from 0), click, propensity, user features; in order of time."""

    item: Ints
    position: Ints
    click: Floats
    propensity: Floats
    user: Floats  # (n, u) indicators
    item_features: Floats  # (items, f)

    def rows(self, chosen: Ints) -> "OpenBanditLog":
        """The log with these rows only, in this order."""
        return OpenBanditLog(
            self.item[chosen],
            self.position[chosen],
            self.click[chosen],
            self.propensity[chosen],
            self.user[chosen],
            self.item_features,
        )


class RelativeError(Frozen):
    """|estimate - truth| / truth over bootstrap runs."""

    estimator: str
    mean: float
    sd: float


def read_open_bandit(folder: Path, campaign: str = "all") -> OpenBanditLog:
    """Read `campaign`.csv and item_context.csv of one policy's folder."""
    for path in (folder / f"{campaign}.csv", folder / "item_context.csv"):
        if not path.is_file():
            raise DataError(f"{path} does not exist: give the folder of the dataset, which holds random/ and bts/")
    rows = pd.read_csv(folder / f"{campaign}.csv", index_col=0).sort_values("timestamp")
    items = pd.read_csv(folder / "item_context.csv", index_col=0).sort_values("item_id")
    users = [rows[name].to_numpy(str) for name in rows.columns if name.startswith("user_feature")]
    labels = items.drop(columns=["item_id", "item_feature_0"]).apply(lambda column: column.rank(method="dense") - 1)
    return OpenBanditLog(
        item=rows["item_id"].to_numpy(np.int64),
        position=(rows["position"].rank(method="dense") - 1).to_numpy(np.int64),
        click=rows["click"].to_numpy(np.float64),
        propensity=rows["propensity_score"].to_numpy(np.float64),
        user=np.hstack([(column[:, None] == np.unique(column)[1:]).astype(np.float64) for column in users]),
        item_features=np.column_stack((labels.to_numpy(np.float64), items["item_feature_0"].to_numpy(np.float64))),
    )


def thompson_distribution(
    alpha: Sequence[float], beta: Sequence[float], positions: int, *, simulations: int, seed: int
) -> Floats:
    """Chance of each item at each position, shape (items, positions): the best draws of Beta(alpha, beta), ranked.

    Russo et al. 2018, "A tutorial on Thompson sampling".
    """
    random = np.random.RandomState(seed)
    counts = np.zeros((len(alpha), positions))
    for start in range(0, simulations, _CHUNK):
        draws = random.beta(alpha, beta, size=(min(_CHUNK, simulations - start), len(alpha)))
        best = np.argsort(draws, axis=1)[:, ::-1][:, :positions]
        for place in range(positions):
            counts[:, place] += np.bincount(best[:, place], minlength=len(alpha))
    return np.asarray(counts / simulations)


def relative_errors(
    log: OpenBanditLog,
    truth: float,
    target: Floats,
    *,
    runs: int,
    inverse_penalty: float,
    report: Callable[[int], None] = lambda _: None,
) -> tuple[RelativeError, ...]:
    """Bootstrap the rows `runs` times (run k with seed k), estimate with each estimator, and compare with the truth."""
    errors: dict[str, list[float]] = {}
    for run in range(runs):
        random = np.random.RandomState(run)
        count = len(log.item)
        drawn = log.rows(random.choice(np.arange(count), size=count, replace=True).astype(np.int64))
        for estimate in _estimates(drawn, target, inverse_penalty):
            errors.setdefault(estimate.name, []).append(abs(estimate.value - truth) / truth)
        report(run)
    return tuple(
        RelativeError(estimator=name, mean=float(np.mean(values)), sd=float(np.std(values, ddof=1)))
        for name, values in errors.items()
    )


def _estimates(log: OpenBanditLog, target: Floats, inverse_penalty: float) -> list[PolicyValue]:
    weight = importance_weights(target[log.item, log.position], log.propensity)
    predicted, at_target = _predictions(log, target, inverse_penalty)
    model = (log.click, weight, predicted, at_target)
    switched = [estimators.switch_doubly_robust(*model, switch_at=limit) for limit in _CANDIDATES]
    shrunk = [estimators.shrunk_doubly_robust(*model, shrinkage=amount) for amount in _CANDIDATES]
    return [
        estimators.direct_method(at_target),
        estimators.inverse_propensity(log.click, weight),
        estimators.self_normalised(log.click, weight),
        estimators.doubly_robust(*model),
        estimators.self_normalised_doubly_robust(*model),
        switched[choose_by_slope(switched, improved=True)],
        shrunk[choose_by_slope(shrunk, improved=True)],
    ]


def _predictions(log: OpenBanditLog, target: Floats, inverse_penalty: float) -> tuple[Floats, Floats]:
    """Cross-fitted click rate of the item shown, and the mean over the target's items; one model for each position."""
    count, users = len(log.item), log.user.shape[1]
    predicted, at_target = np.empty(count), np.empty(count)
    shuffled = np.arange(count)
    np.random.RandomState(_FOLD_SEED).shuffle(shuffled)
    for fold in np.array_split(shuffled, _FOLDS):
        fitted = np.setdiff1d(np.arange(count), fold)
        for position in range(target.shape[1]):
            train, rows = fitted[log.position[fitted] == position], fold[log.position[fold] == position]
            design = np.hstack((log.user[train], log.item_features[log.item[train]]))
            slopes = _fit_logistic(design, log.click[train], inverse_penalty)
            scores = log.user[rows] @ slopes[:users]
            rates = _logistic(scores[:, None] + log.item_features @ slopes[users:-1] + slopes[-1])
            predicted[rows] = rates[np.arange(len(rows)), log.item[rows]]
            at_target[rows] = rates @ target[:, position]
    return predicted, at_target


def _fit_logistic(design: Floats, click: Floats, inverse_penalty: float) -> Floats:
    """Logistic regression with penalty |slopes|^2 / (2 C); slopes, then the intercept, which is not penalised."""

    def loss(slopes: Floats) -> tuple[float, Floats]:
        scores = design @ slopes[:-1] + slopes[-1]
        residual = _logistic(scores) - click
        total = np.sum(np.logaddexp(0, scores) - click * scores) + np.sum(slopes[:-1] ** 2) / (2 * inverse_penalty)
        slope = np.append(design.T @ residual + slopes[:-1] / inverse_penalty, residual.sum())
        return float(total), slope

    start = np.zeros(design.shape[1] + 1)
    result = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 10_000})
    return np.asarray(result.x)


def _logistic(scores: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-scores)))
