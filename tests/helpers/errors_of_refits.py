"""A made-up model of errors, for tests of what is learned about them."""

from headcount.uncertainty.refitted import ErrorModel

TRUE = ErrorModel(
    growth=1.4,
    blind_growth=0.6,
    scale=0.15,
    power=1.2,
    doubt=0.6,
    share=0.4,
    levels=(0.0, 1.0),
    quantiles=(0.0, 1.0),
)
LITTLE = -60.0  # log odds of next to nothing
