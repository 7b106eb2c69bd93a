"""
A scikit-learn classifier, from fit to forecast
===============================================

A machine reads three-digit codes, *473*, as one picture of 8 by 24 pixels, from handwriting. Only
100 of the 1,000 codes are in use today. Two classifiers are at hand. Which one should be built in,
and how well will it do once every code is in use?

The handwriting is real: codes are put together from scikit-learn's digits. Pictures for training
and pictures for testing never share an image of a digit.

Run it with ``python examples/classifier.py``, or ``python examples/classifier.py picture.png`` to
keep the picture.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import headcount

# %%
# The pictures
# ------------

images, digits = load_digits(return_X_y=True)
to_train, to_test = train_test_split(np.arange(len(digits)), stratify=digits, random_state=0)


def written(codes, source, each, seed):
    """Return `each` pictures of every code, made of these images, and the codes they show."""
    random = np.random.default_rng(seed)
    of_digit = [source[digits[source] == digit] for digit in range(10)]
    labels = np.repeat(codes, each)
    parts = [[random.choice(of_digit[int(digit)]) for digit in code] for code in labels]
    return images[np.array(parts)].reshape(len(labels), -1), labels


every_code = np.array([f"{number:03d}" for number in range(1000)])
pictures, shown = written(every_code, to_train, each=10, seed=1)
new_pictures, new_shown = written(every_code, to_test, each=3, seed=2)

# %%
# Fit, test, forecast
# -------------------
# Everything up to here is scikit-learn as usual, on the 100 codes in use. `Pilot.from_classifier`
# takes the fitted classifier and the test set; all that counts is how the classes are scored.

CLASSIFIERS = {
    "naive Bayes": GaussianNB(var_smoothing=0.01),
    "LDA": LinearDiscriminantAnalysis(),
}


def tested_on(codes, classifier):
    """Train on these codes alone, and test."""
    old, new = np.isin(shown, codes), np.isin(new_shown, codes)
    fitted = classifier.fit(pictures[old], shown[old])
    return headcount.Pilot.from_classifier(fitted, new_pictures[new], new_shown[new])


in_use = np.random.default_rng(0).choice(every_code, 100, replace=False)
pilots = {name: tested_on(in_use, classifier) for name, classifier in CLASSIFIERS.items()}
print(pilots["LDA"].summary())

# %%
# Both were tested on the same pictures, so what they share cancels in the difference. The warning
# says that 1,000 codes are far from 100: the intervals are wide, and rightly so.

comparison = headcount.compare(pilots, classes=[300, 1000])
print(comparison)

# %%
# What really happens
# -------------------
# Train again with all 1,000 codes, and test.

whole = {name: tested_on(every_code, classifier) for name, classifier in CLASSIFIERS.items()}
truth = {name: headcount.observe(pilot) for name, pilot in whole.items()}
print("1,000 codes     forecast   90% interval   truth")
for name, forecast in comparison.forecasts.items():
    low, high = (float(limit) for limit in forecast.interval(1000))
    came = float(truth[name].accuracy(1000))
    verdict = "inside" if low <= came <= high else "OUTSIDE"
    print(
        f"{name:14s}  {float(forecast.accuracy(1000)):8.0%}   {low:5.0%} to {high:4.0%}   "
        f"{came:5.0%}  {verdict}"
    )

# %%
# So LDA is the one to build in. From 100 codes the comparison leaned to LDA but could not be sure,
# and rightly so. The forecast for naive Bayes came out right. The one for LDA was too low.
#
# Why LDA does better than forecast
# ---------------------------------
# A forecast assumes that the old classes are scored as before when new ones come. Naive Bayes does
# that: it learns each code from its own pictures. LDA does not. From all codes together it learns
# *one* way in which handwriting varies. Ten times the codes are also ten times the handwriting, so
# it becomes a better classifier. That can be seen among 100 codes, where nothing else has changed:

print("100 codes       trained on 100   trained on 1,000")
for name in CLASSIFIERS:
    alone = float(comparison.forecasts[name].accuracy(100))
    together = float(headcount.observe(whole[name].subset(in_use)).accuracy(100))
    print(f"{name:14s}  {alone:14.0%}   {together:16.0%}")

# %%
# The picture
# -----------

picture = comparison.forecasts["LDA"].plot()
beyond = np.unique(np.geomspace(2, 1000, 60).astype(int))
picture.ax_.plot(
    beyond, truth["LDA"].accuracy(beyond), color="black", linewidth=1, label="LDA, all 1,000 codes"
)
picture.ax_.legend(frameon=False)
if len(sys.argv) > 1:
    picture.figure_.savefig(sys.argv[1], dpi=150)
