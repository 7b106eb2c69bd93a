"use strict";
// Value, limits and capacity at any number of classes, looked up in the rows of a curve: what
// headcount's Forecast gives. See page_data.py for where rows lie.

const NEIGHBOURS = 8; // rows that a value between rows is computed from
const EDGE = 1e-9; // limits of 0 and 1 have no log odds

// A row's own value; between rows that of the polynomial in log k through the nearest ones of the
// same piece, kept between its two neighbours.
function valueAt(curve, k) {
  const { classes, value } = curve;
  const row = rowBelow(classes, k);
  if (classes[row] === k) return value[row];
  const [first, last] = pieceOf(curve, row);
  const start = Math.max(first, Math.min(row + 1 - NEIGHBOURS / 2, last + 1 - NEIGHBOURS));
  const end = Math.min(start + NEIGHBOURS, last + 1);
  const places = classes.slice(start, end).map(Math.log);
  const between = polynomialAt(places, value.slice(start, end), Math.log(k));
  const [low, high] = [value[row], value[row + 1]].sort((a, b) => a - b);
  return Math.min(Math.max(between, low), high);
}

// The last row at or below k; there is one after it, unless k is the last row's own.
function rowBelow(classes, k) {
  let low = 0;
  let high = classes.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (classes[middle] <= k) low = middle;
    else high = middle;
  }
  return low;
}

// First and last row of the smooth piece of a curve that a row belongs to.
function pieceOf(curve, row) {
  const piece = curve.pieces.findLastIndex((start) => start <= row);
  return [curve.pieces[piece], (curve.pieces[piece + 1] ?? curve.classes.length) - 1];
}

// Neville's scheme.
function polynomialAt(places, values, place) {
  const column = [...values];
  for (let width = 1; width < places.length; width++) {
    for (let i = 0; i + width < places.length; i++) {
      const [left, right] = [places[i], places[i + width]];
      column[i] = ((place - right) * column[i] - (place - left) * column[i + 1]) / (left - right);
    }
  }
  return column[0];
}

// Limits between rows: straight on the scale of log odds in log k, so that they never rise.
function limitsAt(curve, k) {
  if (!curve.lower) return null;
  const { classes, lower, upper } = curve;
  const row = rowBelow(classes, k);
  if (classes[row] === k) return [lower[row], upper[row]];
  const share = Math.log(k / classes[row]) / Math.log(classes[row + 1] / classes[row]);
  const value = valueAt(curve, k);
  const [least, most] = [lower, upper].map((limit) => mixed(limit[row], limit[row + 1], share));
  return [Math.min(least, value), Math.max(most, value)];
}

function mixed(start, end, share) {
  if (start === end) return start;
  const [a, b] = [start, end].map((x) => logOdds(Math.min(Math.max(x, EDGE), 1 - EDGE)));
  return 1 / (1 + Math.exp(-(a + share * (b - a))));
}

function logOdds(x) {
  return Math.log(x) - Math.log1p(-x);
}

// Largest k with a value of at least the target: see Forecast.capacity.
function capacityOf(curve, target) {
  return lastAbove(curve.classes, curve.value, (k) => valueAt(curve, k), target);
}

// Where the lower and the upper limit fall below the target: see Forecast.capacity_interval.
function capacityLimits(curve, target) {
  if (!curve.lower) return null;
  return [curve.lower, curve.upper].map((limit, side) =>
    lastAbove(curve.classes, limit, (k) => limitsAt(curve, k)[side], target));
}

// The last k before a column of rows first falls below the target; past the last row, any number.
function lastAbove(classes, column, at, target) {
  const least = target - ROUND_OFF;
  const row = column.findIndex((value) => value < least);
  if (row < 0) return Infinity;
  return row === 0 ? 1 : lastTrue((k) => at(k) >= least, classes[row - 1], classes[row]);
}

// The last whole number at which something holds, given that it does at low and does not at high.
function lastTrue(holds, low, high) {
  while (high - low > Math.max(1, low * 1e-15)) {
    const middle = Math.floor(low + (high - low) / 2);
    if (middle === low || middle === high) break;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}
