"""Classes that came in whole groups: every average against all sets of groups."""

import itertools

import numpy as np
import pytest

from headcount import Pilot, forecast, observe
from headcount.errors import DataError, ParameterError, UnsupportedError
from headcount.estimators import ProbitNormal
from headcount.estimators.whole_groups import WholeGroups
from headcount.metrics import ACCURACY
from headcount.simulate import near_duplicates
from headcount.uncertainty.jackknife import metric_covariance, without_each

N_GROUPS = 10

pytestmark = pytest.mark.filterwarnings("ignore::headcount.errors.ExtrapolationWarning")


def grouped(seed=0, size=3, step=None, per_class=2, **options):
    """A pilot of ten groups of `size` classes, near each other; scores may be rounded."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(N_GROUPS), size)
    centres = rng.normal(size=(N_GROUPS, 2))[groups] + 0.3 * rng.normal(size=(len(groups), 2))
    labels = np.repeat(np.arange(len(groups)), per_class)
    probes = centres[labels] + 0.5 * rng.normal(size=(len(labels), 2))
    scores = -np.linalg.norm(probes[:, None] - centres, axis=2)
    if step is not None:
        scores = (scores / step).round()
    order = rng.permutation(len(groups))  # groups need not be neighbours
    place = np.argsort(order)
    return Pilot.from_scores(
        scores[:, order], place[labels], groups=groups[order].tolist(), **options
    )


def among_groups(pilot, n_groups):
    """Mean chance to be right over all sets of groups that hold the probe's own, by brute force."""
    groups, scores = pilot.groups, np.concatenate([block for _, block in pilot.score_blocks()])
    names, total = np.unique(groups), 0.0
    for i, true in enumerate(pilot.labels):
        others = names[names != groups[true]]
        chances = []
        for chosen in itertools.combinations(others, n_groups - 1):
            rivals = np.isin(groups, [groups[true], *chosen])
            rivals[true] = False
            lost = (scores[i, rivals] > scores[i, true]).sum()
            tied = (scores[i, rivals] == scores[i, true]).sum()
            if pilot.tie_rule == "lose":
                chances.append(lost + tied == 0)
            elif pilot.tie_rule == "win":
                chances.append(lost == 0)
            else:
                chances.append((lost == 0) / (1 + tied))
        total += pilot.weights[i] * np.mean(chances)
    return total


@pytest.mark.parametrize("rule", ["random", "lose", "win"])
@pytest.mark.parametrize("step", [None, 0.4])
def test_fewer_groups_are_averaged_over_exactly(step, rule):
    pilot = grouped(seed=3, step=step, tie_rule=rule, average="micro")
    assert pilot.whole_groups
    curve = observe(pilot)
    for n_groups in (1, 2, 5, 10):
        expected = among_groups(pilot, n_groups)
        # Groups that tie with unequal numbers of classes count as if they tied with equal ones.
        near = 1e-12 if step is None or rule != "random" or n_groups in (1, 10) else 2e-3
        assert curve.accuracy(3 * n_groups) == pytest.approx(expected, abs=near)


def test_equal_ties_are_exact():
    """Each class of a group scores alike, so that whole groups tie with three classes each."""
    rng = np.random.default_rng(1)
    scores = np.repeat(rng.integers(3, size=(20, N_GROUPS)), 3, axis=1)
    pilot = Pilot.from_scores(
        scores, rng.integers(30, size=20), groups=np.repeat(np.arange(N_GROUPS), 3).tolist(),
        higher_is_better=True,
    )  # fmt: skip
    for n_groups in (2, 4, 7):
        expected = among_groups(pilot, n_groups)
        assert observe(pilot).accuracy(3 * n_groups) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("step", [None, 0.4])
def test_the_whole_pilot_is_as_it_was_measured(step):
    """Groups of unequal sizes, too; and a single class is always right."""
    whole = grouped(seed=5, step=step)
    pilot = whole.subset(whole.class_names[:-4])
    assert len(set(np.unique(pilot.groups, return_counts=True)[1])) > 1 and pilot.whole_groups
    curve = observe(pilot)
    assert curve.accuracy(pilot.n_classes) == pytest.approx(pilot.weights @ pilot.right, abs=1e-12)
    assert curve.accuracy(1) == 1
    assert (np.diff(curve.accuracy(np.arange(1, pilot.n_classes + 1))) <= 1e-12).all()


def test_merged_scores_are_those_of_the_best_class():
    pilot = grouped(seed=2)
    merged = pilot.merged.pilot
    for (_, all_scores), (_, best) in zip(
        pilot.keep_probes(pilot.merged.kept).score_blocks(), merged.score_blocks(), strict=True
    ):
        for group in range(N_GROUPS):
            assert (all_scores[:, pilot.groups == group].max(axis=1) == best[:, group]).all()
    losses, ties = merged._need_source().count()
    assert (losses == merged.losses).all() and (ties == merged.ties).all()
    half = merged.subset(merged.class_names[::2])
    assert (half.losses == half._need_source().count()[0]).all()


def test_groups_of_one_are_no_groups():
    pilot = near_duplicates(40, family_sizes=(1,), random_state=0).pilot
    assert len(set(pilot.groups.tolist())) == 40 and not pilot.whole_groups
    plain = pilot.with_groups(None)
    for k in (20, 40, 400):
        with_groups, without = (
            forecast(p, classes=k, method="probit-normal") for p in (pilot, plain)
        )
        assert with_groups.value(k) == pytest.approx(without.value(k), abs=1e-12)
        assert with_groups.interval(k) == pytest.approx(without.interval(k), abs=1e-12)
    # Nor does the way through groups change anything.
    fit, usual = WholeGroups(method=ProbitNormal()).fit(pilot), ProbitNormal().fit(plain)
    ks = [1, 2, 40, 4000]
    assert fit.predict(ks) == pytest.approx(usual.predict(ks), abs=1e-6)  # round-off of weights


def test_the_order_of_the_data_does_not_matter():
    pilot = grouped(seed=4)
    scores = np.concatenate([block for _, block in pilot.score_blocks()])
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(scores)), rng.permutation(scores.shape[1])
    names = {0: "i", 1: "h", 2: "a", 3: "z", 4: "b", 5: "y", 6: "q", 7: "w", 8: "e", 9: "r"}
    other = Pilot.from_scores(
        scores[rows][:, columns],
        np.argsort(columns)[pilot.labels[rows]],
        groups=[names[group] for group in pilot.groups[columns].tolist()],
    )
    first, second = (
        forecast(p, classes=90, method="probit-normal", confidence=0.8) for p in (pilot, other)
    )
    for k in (10, 30, 90):
        assert first.value(k) == pytest.approx(second.value(k), abs=1e-9)
        assert first.interval(k) == pytest.approx(second.interval(k), abs=1e-9)


def test_leaving_out_a_group_is_a_pilot_without_it():
    pilot = grouped(seed=6)
    k = np.array([3, 9, 27])
    found = without_each(pilot, ACCURACY, k)
    for group in range(N_GROUPS):
        smaller = pilot.subset(pilot.class_names[pilot.groups != group]).with_groups(None)
        smaller = smaller.with_groups(pilot.groups[pilot.groups != group].tolist())
        merged = smaller.merged
        table = merged.table
        for column, n_groups in enumerate((1, 3, 9)):
            expected = merged.share * ACCURACY.of_losses(table.losses, table.weights, 8, n_groups)
            assert found[group, column] == pytest.approx(expected, abs=1e-12)


def test_families_vary_more_than_as_many_classes():
    """Whole families are right or wrong together, so the error is larger than of single classes."""
    pilot = near_duplicates(150, random_state=3).pilot
    by_group, by_class = (
        float(metric_covariance(p, 150)[0, 0])
        for p in (pilot, pilot.with_groups(pilot.groups, "classes"))
    )
    assert by_group > 0 and by_class > 0 and by_group != by_class


def test_a_method_learns_from_groups():
    """By hand: the accuracy of probes that no relative beats, among groups, times their share."""
    pilot = grouped(seed=7)
    fit = WholeGroups(method=ProbitNormal()).fit(pilot)
    inner = ProbitNormal().fit(pilot.merged.pilot)
    share = pilot.merged.share
    assert fit.predict(3 * 40) == pytest.approx(share * inner.predict(40), abs=1e-12)
    between = (2 * inner.predict(40) + inner.predict(41)) / 3
    assert fit.predict(3 * 40 + 1) == pytest.approx(share * between, abs=1e-12)
    assert fit.predict(3) == pytest.approx(share, abs=1e-12)
    assert fit.predict(2) == pytest.approx((1 + share) / 2, abs=1e-12)
    assert 0 < fit.share_error_ < 0.2


def test_relatives_that_beat_every_probe():
    """Then nothing is ever right."""
    scores = np.zeros((10, 20))
    scores[np.arange(10), np.arange(10) + 10] = 1
    groups = [*range(10), *range(10)]
    pilot = Pilot.from_scores(scores, np.arange(10), groups=groups, higher_is_better=True)
    result = forecast(pilot, classes=100, method="probit-normal", intervals=False)
    assert result.value([1, 20, 100]).tolist() == [1, 0, 0]


def test_few_groups_and_counts_are_classes_one_by_one():
    pilot = grouped()
    few = pilot.with_groups((pilot.groups // 2).tolist())
    assert not few.whole_groups
    found = {c.code: c.message for c in forecast(few, classes=60, intervals=False).checks}
    assert "5 groups are too few" in found["HC022"]
    counts = Pilot.from_losses(pilot.losses, 30, labels=pilot.labels, groups=pilot.groups.tolist())
    assert not counts.whole_groups
    found = {c.code: c.message for c in forecast(counts, classes=60, intervals=False).checks}
    assert "does not say which classes beat" in found["HC022"]


def test_groups_drawn_whole_need_not_be_alike():
    """Relatives that beat each other are what is expected of them; not of strata."""
    pilot = near_duplicates(60, random_state=2).pilot
    strata = pilot.with_groups(pilot.groups, "classes")
    whole, one_by_one = (
        {check.code for check in forecast(p, classes=100, intervals=False).checks}
        for p in (pilot, strata)
    )
    assert "HC012" in one_by_one and not {"HC012", "HC013", "HC022"} & whole


def test_what_is_refused():
    pilot = grouped()
    with pytest.raises(DataError, match=r"groups.*29.*30 classes"):
        pilot.with_groups(pilot.groups[:-1].tolist())
    with pytest.raises(DataError, match=r"1 .*no group"):
        pilot.with_groups({name: "x" for name in pilot.class_names[1:].tolist()})
    with pytest.raises(ParameterError, match="drawn"):
        pilot.with_groups(pilot.groups, "families")
    with pytest.raises(UnsupportedError, match=r"accuracy alone.*top-5"):
        forecast(pilot, classes=60, metric="top-5")
    counts = Pilot.from_losses([0, 1], 3, labels=[0, 1], groups=[0, 0])
    with pytest.raises(UnsupportedError, match="scores or embeddings"):
        WholeGroups(method=ProbitNormal()).fit(counts)
