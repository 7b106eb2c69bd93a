"use strict";
// Numbers as people read them: the same words as headcount's wording.py.

const ROUND_OFF = 1e-12; // a sum of weights may miss 0 or 1 by so much
const FINEST = 1e-8; // what is nearer to 0% or 100% than that is said in words
const MOST_DIGITS = 8;

// Two significant digits of what is left to 0% or 100%; more, to be told from what stands beside it.
function percent(value, beside = value) {
  const edge = Math.min(value, 1 - value);
  if (edge < ROUND_OFF) return `${fixed(100 * value, 0)}%`;
  if (edge < FINEST) return value < 0.5 ? "under 0.000001%" : "over 99.999999%";
  const power = Number((100 * edge).toExponential(1).split("e")[1]);
  const enough = Math.max(0, 1 - power);
  let digits = enough;
  const alike = () => fixed(100 * value, digits) === fixed(100 * beside, digits);
  while (beside !== value && digits < MOST_DIGITS && alike()) digits++;
  const text = fixed(100 * value, digits);
  return `${digits === enough && digits > 0 ? text.replace(/\.?0+$/, "") : text}%`;
}

function percentRange(lower, upper) {
  const [first, last] = [percent(lower, upper), percent(upper, lower)];
  return first === last ? last : `${first.replace(/%$/, "")}-${last}`;
}

function about(count) {
  if (count === Infinity) return "any number of";
  if (count > 1e12) return "over a trillion";
  if (count < 100) return thousands(Math.floor(count));
  const step = 10 ** (Math.floor(Math.log10(count)) - 1);
  return thousands(Math.floor(count / step) * step);
}

function describeCapacity(count) {
  return `${count >= 100 && count <= 1e12 ? "about " : ""}${about(count)} classes`;
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
