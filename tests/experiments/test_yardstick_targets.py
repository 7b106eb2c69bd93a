"""The targets of the yardstick, on errors made up."""

import numpy as np
import pytest

from experiments.yardstick import targets as judge
from experiments.yardstick.targets import Stratum


def errors_of(auto, **others):
    errors = {"oracle": [0.001] * len(auto), "auto": auto}
    return errors | {name.replace("_fast", "-fast"): values for name, values in others.items()}


def reached(strata, start):
    (row,) = [row for row in judge.targets(strata) if row["target"].startswith(start)]
    return row


def test_ratios_are_of_means_over_the_pilots_both_answered():
    strata = [
        Stratum("simulations", "x", 100, errors_of([0.01, 0.03, 0.9], cleanex=[0.04, 0.06, None])),
        Stratum(
            "simulations", "y", 100, errors_of([0.02, 0.02], cleanex=[0.05], cleanex_fast=[0, 0.03])
        ),
        Stratum("simulations", "z", 500, errors_of([1.0, 1.0], cleanex=[0.1, 0.1])),
    ]
    row = reached(strata, "(a) from 100: mean")
    # The stand-in serves the one pilot of y without CleaneX, and not the other.
    assert row["reached"] == pytest.approx(0.08 / 0.18, abs=1e-6)
    assert row["against"] == "cleanex (3) + cleanex-fast (1)"
    assert row["pilots"] == "4 of 5"
    assert row["oracle"] == pytest.approx(0.004 / 0.18, abs=1e-6)
    assert (row["met"], row["at_most"]) == ("yes", "0.55")
    assert reached(strata, "(a) from 500: mean / CleaneX's")["met"] == "no"
    assert reached(strata, "(b): mean")["reached"] is None
    both = judge.paired(strata[:2], *judge.CLEANEX)
    ratio = 0.08 / 0.18
    rest = [[0.01 - 0.04 * ratio, 0.03 - 0.06 * ratio], [0.02 - 0.05 * ratio, 0.02 - 0.03 * ratio]]
    error = np.sqrt(sum(2 * np.var(r, ddof=1) for r in rest)) / 4 / 0.045
    assert both.ratio() == pytest.approx((ratio, error))


def test_standard_error_of_a_ratio_is_its_spread_over_draws():
    """Two strata of unlike means, errors of the two methods correlated; 4,000 draws."""
    rng = np.random.default_rng(3)
    ratios, errors = [], []
    for _ in range(4000):
        strata = []
        for family, mean in (("x", 0.02), ("y", 0.06)):
            shared = rng.normal(size=10)
            auto = mean * (1 + 0.2 * shared + 0.1 * rng.normal(size=10))
            rival = 2 * mean * (1 + 0.2 * shared + 0.1 * rng.normal(size=10))
            strata.append(Stratum("real", family, 20, errors_of(list(auto), cleanex=list(rival))))
        value, error = judge.paired(strata, "cleanex").ratio()
        ratios.append(value)
        errors.append(error**2)
    # A standard deviation from 4,000 draws is known to 1.1%; ten pilots leave a few percent bias.
    assert np.sqrt(np.mean(errors)) == pytest.approx(np.std(ratios), rel=0.06)


def test_the_best_published_method_is_the_hardest_to_beat():
    strata = [
        Stratum(
            "simulations", "x", 500,
            errors_of([0.008, 0.008], kde=[0.02, 0.02], regression=[0.01, 0.01], **{"probit-normal": [1e-3] * 2}),
        )
    ]  # fmt: skip
    row = reached(strata, "(a) from 500: mean / best")
    assert (row["reached"], row["against"], row["met"]) == (0.8, "regression", "yes")
    strata[0].errors["cleanex-fast"] = [None, 0.0085]
    row = reached(strata, "(a) from 500: mean / best")
    assert row["reached"] == pytest.approx(8 / 8.5, abs=1e-6)
    assert (row["against"], row["pilots"], row["met"]) == ("cleanex-fast", "1 of 2", "no")


def test_tails_are_quantiles_over_all_pilots():
    auto, theirs = np.linspace(0.01, 0.05, 41), np.linspace(0.02, 0.10, 41)
    strata = [
        Stratum("real", "x", 20, errors_of(list(auto[:20]), cleanex=list(theirs[:20]))),
        Stratum("real", "y", 20, errors_of(list(auto[20:]), cleanex=list(theirs[20:]))),
    ]
    row = reached(strata, "(b): 95th")
    assert row["reached"] == pytest.approx(0.5)
    assert row["against"] == "cleanex: 0.0480 / 0.0960"
    assert row["oracle"] == pytest.approx(0.001 / 0.096, abs=1e-6)
    assert row["met"] == "yes"


@pytest.mark.parametrize(
    ("auto", "within"), [(0.125, True), (0.1251, False), (0.11, True), (0.0, True)]
)
def test_families_are_within_a_factor(auto, within):
    (row,) = judge.families(
        [Stratum("real", "x", 20, errors_of([auto], kde=[0.1], regression=[0.3]))]
    )
    assert (row["within"], row["best"], row["best_rmse"]) == (within, "kde", 0.1)


@pytest.mark.parametrize(("auto", "within"), [(0.0049, True), (0.0051, False)])
def test_families_are_within_a_margin(auto, within):
    (row,) = judge.families([Stratum("real", "x", 20, errors_of([auto], exponential=[0.002]))])
    assert row["within"] is within


def test_families_pool_sizes_unless_told_otherwise():
    strata = [
        Stratum("real", "x", 20, errors_of([0.05], kde=[0.01])),
        Stratum("real", "x", 50, errors_of([0.01], kde=[0.09])),
        Stratum("problems", "hubs", None, errors_of([0.05, 0.01], kde=[0.01, 0.02])),
    ]
    assert [row["within"] for row in judge.families(strata)] == [True, False]
    assert [row["within"] for row in judge.families(strata, by_size=True)] == [False, True, False]
    row = reached(strata, "(b): share of families at each size")
    assert (row["reached"], row["met"], row["at_most"]) == (0.5, "no", "all of 2")
    assert row["against"] == "worst: x from 20, 0.0500 / 0.0100 (kde)"
    assert reached(strata, "(b): share of families near")["met"] == "yes"


def test_a_refusal_of_the_default_fails_its_targets():
    strata = [Stratum("real", "x", 20, errors_of([0.01, None], cleanex=[0.1, 0.1]))]
    row = reached(strata, "(b): mean")
    assert (row["reached"], row["met"]) == (0.1, "no")
    assert row["against"] == "cleanex; auto refused 1"
