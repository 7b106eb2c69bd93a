"use strict";
// Accuracy, limits and capacity at any number of classes: what headcount's Forecast gives.

const NEAR = 64; // up to so many factors are multiplied one by one
const EDGE = 1e-9; // limits of 0 and 1 have no log odds

function accuracyAt(series, k) {
  if (k <= series.pilot.n_classes) return observedAccuracy(series.pilot, k);
  return series.law.ladder ? ladderAccuracy(series.law, k) : lawAccuracy(series.law, k);
}

// Mean chance that none of the k - 1 rivals drawn beats a probe: see Observed.
function observedAccuracy(pilot, k) {
  if (k <= 1) return 1;
  const rivals = pilot.n_classes - 1;
  const drawn = k - 1;
  let total = 0;
  let chance = 1;
  let at = -1;
  for (const [i, losses] of pilot.losses.entries()) {
    if (losses > rivals - drawn) break;
    if (at < 0 || losses - at > NEAR) {
      chance = Math.exp(logUnbeaten(rivals, losses, drawn));
    } else {
      for (let l = at; l < losses; l++) chance *= (rivals - l - drawn) / (rivals - l);
    }
    at = losses;
    total += pilot.weights[i] * chance;
  }
  return Math.min(total, 1);
}

// log of C(n - losses, drawn) / C(n, drawn). Log-factorials would cancel; here all terms are small.
function logUnbeaten(n, losses, drawn) {
  const [few, many] = losses < drawn ? [losses, drawn] : [drawn, losses]; // it is symmetric
  const rest = n - losses - drawn;
  if (few <= NEAR) {
    let sum = 0;
    for (let i = 0; i < few; i++) sum += Math.log1p(-many / (n - i));
    return sum;
  }
  if (rest < 16) return -Infinity; // below 1e-12 by far
  return (
    (n - few + 0.5) * Math.log1p(-few / n) +
    few * Math.log1p(-many / n) -
    (rest + 0.5) * Math.log1p(-few / (n - many)) +
    stirling(n - few) + stirling(n - many) - stirling(n) - stirling(rest)
  );
}

// log n! less Stirling's formula, for n of 16 and more.
function stirling(n) {
  const s = 1 / (n * n);
  return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s / 1680))) / n;
}

// E[U^(k-1)] over the nodes: see Favorability. Near one the error has the digits.
function lawAccuracy(law, k) {
  let right = 0;
  let wrong = 0;
  for (let i = 0; i < law.p.length; i++) {
    const exponent = (k - 1) * (law.p[i] < 1 ? Math.log1p(-law.p[i]) : -1e3);
    right += law.weights[i] * Math.exp(exponent);
    wrong -= law.weights[i] * Math.expm1(exponent);
  }
  return Math.min(Math.max(wrong < 0.5 ? 1 - wrong : right, 0), 1);
}

// Straight in log k between the rungs: see PredictedCurve.
function ladderAccuracy(law, k) {
  const [low, share] = placeOf(law.ladder, k);
  return law.accuracy[low] + share * (law.accuracy[low + 1] - law.accuracy[low]);
}

// Limits between the rungs of a ladder: straight on the scale of log odds in log k.
function limitsAt(series, k) {
  if (!series.limits) return null;
  const { classes, lower, upper } = series.limits;
  if (k <= 1) return [1, 1];
  const exact = classes.indexOf(k);
  if (exact >= 0) return [lower[exact], upper[exact]];
  const [low, share] = placeOf(classes, k);
  const value = accuracyAt(series, k);
  const between = [lower, upper].map((side) => mixed(side[low], side[low + 1], share));
  return [Math.min(between[0], value), Math.max(between[1], value)];
}

function mixed(one, two, share) {
  if (one === two) return one;
  const [a, b] = [one, two].map((x) => logOdds(Math.min(Math.max(x, EDGE), 1 - EDGE)));
  return 1 / (1 + Math.exp(-(a + share * (b - a))));
}

function logOdds(x) {
  return Math.log(x) - Math.log1p(-x);
}

// The place below k in an ascending list, and how far k is to the next one, in log k.
function placeOf(ascending, k) {
  let low = 0;
  let high = ascending.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (ascending[middle] <= k) low = middle;
    else high = middle;
  }
  const share = Math.log(k / ascending[low]) / Math.log(ascending[low + 1] / ascending[low]);
  return [low, Math.min(Math.max(share, 0), 1)];
}

// Largest k with an accuracy of at least the target: see Forecast.capacity.
function capacityOf(series, target) {
  const size = series.pilot.n_classes;
  const least = target - ROUND_OFF;
  const holds = (k) => accuracyAt(series, k) >= least;
  if (!holds(size)) return lastTrue(holds, 1, size);
  if (series.law.ladder) return Math.max(size, ladderCapacity(series.law, least));
  const { p, weights } = series.law;
  if (p[0] === 0 && weights[0] >= least) return Infinity;
  let low = size;
  while (holds(low * 2)) {
    low *= 2;
    if (low > 1e300) return Infinity;
  }
  return lastTrue(holds, low, low * 2);
}

// The last k before the curve first falls: it may rise again.
function ladderCapacity(law, least) {
  const first = law.accuracy.findIndex((value) => value < least);
  if (first < 0) return Infinity;
  const holds = (k) => ladderAccuracy(law, k) >= least;
  return first === 0 ? 1 : lastTrue(holds, law.ladder[first - 1], law.ladder[first]);
}

// Where the lower and the upper limit fall below the target: see Forecast.capacity_interval.
function capacityLimits(series, target) {
  if (!series.limits) return null;
  const { classes, lower, upper } = series.limits;
  return [lower, upper].map((limit, side) => {
    const first = limit.findIndex((value) => value < target - ROUND_OFF);
    if (first < 0) return Infinity;
    const holds = (k) => limitsAt(series, k)[side] >= target - ROUND_OFF;
    return lastTrue(holds, classes[first - 1], classes[first]);
  });
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
