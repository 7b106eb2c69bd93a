"""
Characters, or faces: from 500 to 11,172
========================================

A reader of Korean knows each syllable from one picture of it, in a sans-serif font. It is shown
the same syllables in a serif font. Faces work the same way: one enrolled photo of each person, one
new photo to recognise, and a network that turns either into a short vector. Only the vectors are
needed here.

We have tried it on 500 syllables. There are 11,172. How well will it do on all of them?

Run it with ``python examples/characters.py``, or ``python examples/characters.py picture.png`` to
keep the picture.
"""

import sys
from importlib.resources import files

import numpy as np

import headcount

# %%
# What we have
# ------------
# Two tables of 32 numbers a row: ``enrolled`` has one row for each syllable, ``shown`` is the same
# syllables in the other font. They come with headcount, so nothing is downloaded.

vectors = np.load(str(files("headcount.datasets") / "hangul.npz"))
enrolled, shown = vectors["gallery"], vectors["probes"]
syllables = np.array([chr(ord("가") + i) for i in range(len(enrolled))])

# %%
# The pilot
# ---------
# The pilot is 500 syllables **drawn at random** from those we care about. That matters more than
# anything else on this page. The end of the story shows what happens otherwise.


def measured_on(chosen):
    """Return the pilot that only these syllables would have given."""
    return headcount.Pilot.from_embeddings(
        shown[chosen], syllables[chosen], enrolled[chosen], syllables[chosen]
    )


everything = len(syllables)
drawn = np.random.default_rng(0).choice(everything, 500, replace=False)
pilot = measured_on(drawn)
print(pilot.summary())

# %%
# The forecast
# ------------
# One call makes it. The call also hides part of the 500, forecasts them from the others, and
# compares. The intervals rest on that. So does the warning: from so few, 11,172 are a long way off.

sizes = [1000, 2000, 5000, everything]
forecast = headcount.forecast(pilot, classes=sizes)
print(forecast)

# %%
# The other way round: how many syllables until accuracy falls under 80%?

low, high = forecast.capacity_interval(0.8)
print(
    f"At least 80% up to about {forecast.capacity(0.8):,} syllables "
    f"(between {low:,.0f} and {high:,.0f})."
)

# %%
# What really happens
# -------------------
# Here we can look, as all 11,172 are at hand. With your own data you cannot: this is the part that
# the forecast stands in for. (This pilot came out a little harder than most: 92%, where the average
# over all sets of 500 is 93%. The forecast follows the pilot, so its intervals just miss the truth
# for a while, as one in ten should.)

truth = headcount.observe(measured_on(np.arange(everything)))
print("classes   forecast   90% interval   truth")
for k in sizes:
    low, high = forecast.interval(k)
    print(
        f"{k:7,}   {float(forecast.accuracy(k)):8.0%}   {float(low):5.0%} to {float(high):4.0%}   "
        f"{float(truth.accuracy(k)):5.0%}"
    )

# %%
# A pilot that was not drawn at random
# ------------------------------------
# Now we take the first 500 syllables of the dictionary instead of a random 500. All begin with one
# of the same few letters, so they look more alike than syllables do in general.

first = measured_on(np.arange(500))
from_first = headcount.forecast(first, classes=everything, intervals=False)
print(
    f"Random pilot:             {float(forecast.accuracy(500)):.0%} at 500, "
    f"forecast {float(forecast.accuracy(everything)):.0%} at {everything:,}\n"
    f"First of the dictionary:  {float(from_first.accuracy(500)):.0%} at 500, "
    f"forecast {float(from_first.accuracy(everything)):.0%} at {everything:,}\n"
    f"Truth:                    {float(truth.accuracy(500)):.0%} at 500,          "
    f"{float(truth.accuracy(everything)):.0%} at {everything:,}"
)

# %%
# No method can repair that. If the people you enrol first are all from one office, or the products
# all from one shelf, draw the pilot again.
#
# The picture
# -----------

picture = forecast.plot(target=0.8)
beyond = np.unique(np.geomspace(500, everything, 60).astype(int))
picture.ax_.plot(beyond, truth.accuracy(beyond), color="black", linewidth=1, label="truth")
picture.ax_.legend(frameon=False)
if len(sys.argv) > 1:
    picture.figure_.savefig(sys.argv[1], dpi=150)
