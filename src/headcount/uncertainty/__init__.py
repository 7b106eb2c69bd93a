"""How far a forecast may be off: resampling, the jackknife, back-tests, intervals.

Public: `Backtest` and `backtest`, and the `Uncertainty` that a forecast carries. All else is
internal.
"""
