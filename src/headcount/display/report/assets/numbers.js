"use strict";
// Numbers as people read them: the same words as headcount/support/words.py.

const ROUND_OFF = 1e-12; // a sum of weights may miss 0 or 1 by so much
const MOST_DIGITS = 8;
const NEARLY_ONE = 1.05; // less reads as one times
const [N_PLACES, LEAST_SPREAD] = [64, 0.05]; // see reachOf
const [FINEST, FINE] = [8, 3]; // nearer to 0% or 100% than 10^-8, or a thousandth of a width: words

// Two significant digits of what is left to 0% or 100%; more, to be told from what stands beside it.
function percent(value, beside = value) {
  const edge = Math.min(value, 1 - value);
  if (edge < ROUND_OFF) return `${fixed(100 * value, 0)}%`;
  const apart = Math.abs(value - beside);
  const finest = apart === 0 ? FINEST : Math.min(FINEST, Math.ceil(-Math.log10(apart)) + FINE);
  if (edge < Number(`1e-${finest}`)) {
    const least = Number(`1e${2 - finest}`);
    return value < 0.5 ? `under ${least.toFixed(finest - 2)}%` : `over ${(100 - least).toFixed(finest - 2)}%`;
  }
  const power = Number((100 * edge).toExponential(1).split("e")[1]);
  const enough = Math.max(0, 1 - power);
  let digits = enough;
  const alike = () => fixed(100 * value, digits) === fixed(100 * beside, digits);
  while (apart > 0 && digits < MOST_DIGITS && alike()) digits++;
  const text = fixed(100 * value, digits);
  return `${digits === enough && digits > 0 ? text.replace(/\.?0+$/, "") : text}%`;
}

function percentRange(lower, upper) {
  const [first, last] = [percent(lower, upper), percent(upper, lower)];
  return first === last ? last : `${first.replace(/%$/, "")}-${last}`;
}

// An error in points, with two significant digits of it.
function inPoints(error) {
  const power = Number((100 * error).toExponential(1).split("e")[1]);
  const digits = Math.max(0, 1 - power);
  const text = digits ? fixed(100 * error, digits).replace(/\.?0+$/, "") : fixed(100 * error, 0);
  return `${text} point${text === "1" ? "" : "s"}`;
}

// A share as it fits beside an axis.
function shortShare(share) {
  return `${(100 * share).toFixed(6).replace(/\.?0+$/, "")}%`;
}

function about(count) {
  if (count === Infinity) return "any number of";
  if (count > 1e12) return "over a trillion";
  if (count < 100) return thousands(Math.floor(count));
  const step = 10 ** (Math.floor(Math.log10(count)) - 1);
  return thousands(Math.floor(count / step) * step);
}

const MOST_SAID = 10000; // times the pilot's classes: past that nothing is said of a capacity

function classes(count) {
  return `${thousands(count)} ${count === 1 ? nouns.class_one : nouns.class_many}`;
}

function describeCapacity(count, size) {
  if (count > MOST_SAID * size) return `more ${nouns.class_many} than can be said`;
  return `${count >= 100 ? "about " : ""}${about(count)} ${nouns.class_many}`;
}

function describeCapacities([low, high], size) {
  const least = about(Math.min(low, MOST_SAID * size));
  return high > MOST_SAID * size ? `${least} or more` : `${least} to ${about(high)}`;
}

function thousands(count) {
  return count.toLocaleString("en-US");
}

// A tie goes to the even digit, as in Python; toFixed would take it up.
function fixed(value, digits) {
  const scaled = value * 10 ** digits;
  const tie = Number.isInteger(value * 2 ** (digits + 1)) && scaled % 1 === 0.5;
  if (!tie) return value.toFixed(digits);
  const below = Math.floor(scaled);
  return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
}
