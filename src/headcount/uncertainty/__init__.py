"""How far a forecast may be off: resampling, the jackknife, back-tests, intervals."""
