"use strict";
// Numbers as people read them: the same words as headcount's wording.py.

function percent(value) {
  const edge = Math.min(value, 1 - value);
  if (edge < 1e-12 || edge >= 0.0095) return `${fixed(100 * value, 0)}%`;
  if (edge < 1e-8) return value < 0.5 ? "under 0.000001%" : "over 99.999999%";
  const digits = Math.max(0, Math.ceil(-Math.log10(edge) - 2));
  return `${fixed(100 * value, digits)}%`;
}

function percentRange(lower, upper) {
  const [first, last] = [percent(lower), percent(upper)];
  return first === last ? last : `${first.replace(/%$/, "")}-${last}`;
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
  if (low > MOST_SAID * size) return "more than can be said";
  return high > MOST_SAID * size ? `${about(low)} or more` : `${about(low)} to ${about(high)}`;
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
