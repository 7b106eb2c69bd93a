"""Answers about classes that came in whole groups: hidden, compared and written as groups."""

import json

import numpy as np
import pytest

from headcount import Forecast, backtest, compare, forecast, observe
from headcount.errors import DataError, UnsupportedError
from headcount.estimators import Auto, NoChange, ProbitNormal
from headcount.estimators.suited import suited
from headcount.estimators.whole_groups import WholeGroups
from headcount.questions.compare import are_paired
from headcount.simulate import Population, near_duplicates
from headcount.uncertainty.resampling import refits, sampler_for
from plausible import spread

pytestmark = pytest.mark.filterwarnings("ignore::headcount.errors.ExtrapolationWarning")


@pytest.fixture(scope="module")
def pilot():
    return near_duplicates(80, random_state=4).pilot


@pytest.fixture(scope="module")
def result(pilot):
    return forecast(pilot, classes=[80, 800], method="probit-normal")


def test_whole_groups_are_drawn(pilot):
    sampler, rng = sampler_for(pilot, WholeGroups(method=ProbitNormal())), np.random.default_rng(0)
    names, sizes = np.unique(pilot.groups, return_counts=True)
    whole, drawn = dict(zip(names.tolist(), sizes.tolist(), strict=True)), []
    for _ in range(30):
        part = sampler.draw(40, rng)
        found, counts = np.unique(part.groups, return_counts=True)
        assert dict(zip(found.tolist(), counts.tolist(), strict=True)).items() <= whole.items()
        assert len(found) == round(len(names) / 2)
        drawn.append(part.n_classes)
    expected = 80 * round(len(names) / 2) / len(names)
    assert len(set(drawn)) > 1 and np.mean(drawn) == pytest.approx(expected, abs=1.5)


def test_the_backtest_hides_groups_and_says_so(pilot, result):
    assert result.backtest.notes[0].startswith("Whole groups were hidden: the pilot has ")
    assert "groups" in repr(result).splitlines()[0]
    again = backtest(pilot, method="probit-normal")
    assert again.steps == result.backtest.steps
    assert again.observed == pytest.approx(float(observe(pilot).accuracy(80)), abs=1e-12)


def test_a_forecast_of_families_survives_writing(result):
    again = Forecast.from_json(result.to_json())
    for k in (1, 7, 80, 800, 100_000):
        assert again.value(k) == result.value(k)
        assert again.interval(k) == result.interval(k)
    assert again.uncertainty.n_drawn == result.observed.n_groups
    assert repr(again) == repr(result)


def test_a_report_and_a_picture_can_be_made(result, tmp_path):
    pytest.importorskip("jinja2")
    result.save(tmp_path / "report.html")
    assert "whole groups" in (tmp_path / "report.html").read_text().lower()


def test_families_make_intervals_wider_than_single_classes(pilot, result):
    """With as much right at K, fewer things were drawn."""
    strata = pilot.with_groups(pilot.groups, "classes")
    single = forecast(strata, classes=[80, 800], method="probit-normal")
    assert result.value(80) == pytest.approx(single.value(80), abs=1e-12)
    wide, narrow = (np.diff(f.interval(80)).item() for f in (result, single))
    assert wide > 1.1 * narrow
    # Relatives are few and stay so: the forecast falls less.
    assert result.value(800) > single.value(800) + 0.1


def test_plausible_laws_err_in_both_factors(pilot):
    """By the delta method: logit of r A, from the errors of r and of logit A."""
    fit = WholeGroups(method=Auto()).fit(pilot)
    share, groups = fit.share_, 10 * pilot.merged.n_groups
    values = fit.plausible([10 * pilot.n_classes])
    among = float(fit.method_.predict(groups))
    inner = float(spread(fit.method_.plausible(groups)))
    by_share = fit.share_error_ / share / (1 - share * among)
    by_among = inner * (1 - among) / (1 - share * among)
    assert values.shape == (128, 1)
    # 128 pairs of errors are not quite normal, nor quite independent.
    assert spread(values)[0] == pytest.approx(np.hypot(by_share, by_among), rel=0.1)
    assert np.median(values) == pytest.approx(share * among, rel=0.02)
    assert WholeGroups(method=ProbitNormal()).fit(pilot).plausible([800]) is None


def test_the_error_of_the_share_is_that_between_groups(pilot):
    """By hand: the ratio's residuals added up in each group."""
    merged = pilot.merged
    home = pilot.groups[pilot.labels]
    unbeaten = np.zeros(pilot.n_probes)
    unbeaten[merged.kept] = merged.kept_weights / pilot.weights[merged.kept]
    gaps = pilot.weights * (unbeaten - merged.share)
    sums = np.array([gaps[home == group].sum() for group in np.unique(pilot.groups)])
    n = len(sums)
    assert merged.share_error == pytest.approx(np.sqrt(n / (n - 1) * (sums**2).sum()), rel=1e-9)


def test_systems_are_paired_by_their_groups(pilot):
    scores = np.concatenate([block for _, block in pilot.score_blocks()])
    rng = np.random.default_rng(0)
    noisy = type(pilot).from_scores(
        scores + 0.05 * rng.normal(size=scores.shape), pilot.labels, groups=pilot.groups
    )
    result = compare({"old": noisy, "new": pilot}, [800], method="probit-normal")
    assert result.pairs[0].paired and result.notes == ()
    apart = noisy.with_groups(np.roll(pilot.groups, 1))
    assert not are_paired(apart, pilot)


def test_methods_are_wrapped_only_where_groups_were_drawn(pilot):
    method = NoChange()
    assert suited(method, pilot.with_groups(None)) is method
    assert isinstance(suited(method, pilot), WholeGroups)
    found = refits(pilot, suited(method, pilot), [(40, 2)], [80])
    assert found.shared_rivals and found.sizes[0].n_failed == 0


def test_the_code_of_a_forecast_names_the_method_asked_for(result):
    assert result.method_code == '"probit-normal"'


def test_asymptotic_intervals_are_known_up_to_the_pilot(result):
    lower, upper = result.interval(40, by="asymptotic")
    assert lower < result.value(40) < upper
    with pytest.raises(UnsupportedError, match="whole groups; use by='resampling'"):
        result.interval(800, by="asymptotic")


def test_a_population_gives_classes_one_by_one(pilot):
    population = Population(pilot)
    drawn = population.pilot(40, random_state=0)
    assert not drawn.whole_groups and drawn.groups is not None
    assert population.truth(10) == pytest.approx(
        float(observe(pilot.with_groups(None)).accuracy(10)), abs=1e-12
    )


def test_more_groups_than_classes_are_refused(result):
    fields = json.loads(result.to_json())
    fields["state"]["groups"]["n_classes"] = 5
    with pytest.raises(DataError, match=r"groups of 5 classes"):
        Forecast.from_json(json.dumps(fields))


def test_what_the_inner_fit_warns_of_is_kept_to_itself():
    """Half of the probes lose to relatives, so that it is no matter that none does to strangers."""
    pilot = near_duplicates(60, random_state=3).pilot
    result = forecast(pilot, classes=60, method="probit-normal", intervals=False)
    assert pilot.merged.table.losses.tolist() == [0]
    assert result.warnings == ()
