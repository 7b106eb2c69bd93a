"""Constants of the error model are recovered from errors that follow it."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from errors_of_refits import LITTLE, TRUE
from experiments import app
from experiments.coverage import calibration, calibration_fit
from headcount.estimators import NoChange
from headcount.uncertainty.refitted import MODEL


def errors_under(model, n, seed, growth=None):
    """Errors drawn from the model itself: Student's t with six degrees of freedom."""
    rng = np.random.default_rng(seed)
    ratios = np.array(calibration.RATIOS)
    x = np.broadcast_to(np.log(ratios), (n, len(ratios)))
    bias = rng.normal(0, 0.25, (n, 1)) * x
    observed = np.broadcast_to(np.exp(rng.normal(-2.2, 0.5, (n, 1))), x.shape)
    growth = rng.uniform(0.2, 1.0, (n, 1)) * x if growth is None else growth * x
    truth = np.full(x.shape, 0.01)
    variance = (
        observed**2 * np.exp(model.growth * growth)
        + (model.scale * x**model.power) ** 2
        + (model.doubt * bias) ** 2
        + truth**2
    )
    error = model.share * bias + np.sqrt(variance) * rng.standard_t(6, x.shape)
    # So little is right that the scale of errors is that of log odds.
    said = np.full(x.shape, LITTLE)
    return calibration_fit.Errors(said, error, error, bias, observed, growth, truth, x)


def test_constants_are_recovered():
    """From 20,000 errors, within four of the standard errors that the fit itself gives."""
    errors = errors_under(TRUE, 3000, seed=1)
    model = calibration_fit.fit(errors)
    apart = calibration_fit.standard_errors(errors, model, resamples=8)
    for name in ("growth", "scale", "power", "doubt", "share"):
        off = abs(getattr(model, name) - getattr(TRUE, name))
        assert off < 4 * apart[name], name
        assert 0 < apart[name] < 0.15, name
    # Quantiles of |t| with six degrees of freedom.
    assert model.levels == calibration_fit.LEVELS
    expected = {0.5: 0.718, 0.8: 1.440, 0.9: 1.943, 0.95: 2.447, 0.99: 3.707}
    for level, value in expected.items():
        assert model.multiplier(level) == pytest.approx(value, rel=0.05)


def test_noise_of_the_truth_is_not_blamed_on_the_forecast():
    """The same constants where the truth itself is as uncertain as the estimate."""
    errors = errors_under(TRUE, 3000, seed=2)
    noise = 0.15
    noisy = errors.error + noise * np.random.default_rng(3).normal(size=errors.error.shape)
    with_noise = replace(errors, error=noisy, plain=noisy, truth=np.hypot(errors.truth, noise))
    model, ignorant = (
        calibration_fit.fit(with_noise),
        calibration_fit.fit(replace(with_noise, truth=errors.truth)),
    )
    assert abs(model.scale - TRUE.scale) < 0.03
    assert model.share == pytest.approx(TRUE.share, abs=0.06)
    assert calibration_fit.loss(with_noise, model) < calibration_fit.loss(with_noise, ignorant)


def test_blind_growth_stands_in_for_the_growth_of_the_halves():
    """Where every growth is 0.6 x, nothing is lost by 0.6 without halves."""
    errors = errors_under(TRUE, 3000, seed=4, growth=0.6)
    model = calibration_fit.fit(errors)
    assert model.blind_growth == pytest.approx(0.6, abs=0.02)
    blind = replace(errors, growth=np.full_like(errors.growth, np.nan))
    known = calibration_fit.loss(errors, model)
    assert calibration_fit.loss(blind, model) == pytest.approx(known, abs=1e-4)


def test_command(capsys, tmp_path):
    pytest.importorskip("torch")
    words = ["calibration", "--problems", "13", "--held-out", "3", "--jobs", "1"]
    words += ["--method", NoChange.alias, "--output", str(tmp_path)]
    assert app.main(words) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "MODEL = ErrorModel(" in out and "held out" in out
    found = json.loads((tmp_path / "calibration.json").read_text())
    assert found["details"]["text"] in out
    assert found["details"]["model"].keys() == asdict(MODEL).keys()
    assert (tmp_path / "calibration.png").stat().st_size > 1000
    assert (tmp_path / "calibration.csv").read_text().startswith("metric,family,setting,")
