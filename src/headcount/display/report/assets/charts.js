"use strict";
// The two pictures: accuracy against classes, and the back-test. Drawn by Observable Plot.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a07800", "#56b4e9", "#7f7f7f"];
const ON_PAGE = { series: (i) => `var(--series-${i % COLOURS.length})`, quiet: "var(--quiet)", ground: "var(--ground)" };
const ON_PAPER = { series: (i) => COLOURS[i % COLOURS.length], quiet: "#5c6670", ground: "#ffffff" };
const HEIGHT = 380;

const SMALLEST = 1e-8; // error rate that a log axis may begin with
const NEAR_CHANCE = 0.1; // from there on guessing matters

function drawCurve(shown, asked, { width, log, error, colours = ON_PAGE }) {
  const last = asked.last;
  const found = shown.flatMap((series) => curvePoints(series, last));
  const target = asked.target === null ? null : rateOf(asked.target, error);
  const axis = curveAxis(found, target, error);
  const [bottom, top] = axis.domain;
  const drawn = (d) => axis.drawn(d, error);
  const at = (k) => shown.map((series) => drawn(pointAt(series, k)));
  const points = found.map(drawn);
  const size = Math.max(...shown.map((series) => series.pilot.n_classes), 2);
  const supported = Math.min(...shown.map((series) => series.supported ?? Infinity));
  const chance = nearChance(found)
    ? ladder(last).map((k) => ({ k, rate: rateOf(1 / k, error) })).filter((d) => d.rate >= bottom && d.rate <= top)
    : [];
  const colour = (d) => colours.series(d.series.index);
  const marks = [
    supported < last &&
      Plot.rect([{ x1: supported, x2: last, y1: bottom, y2: top }], {
        x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: colours.quiet, fillOpacity: 0.1,
        ariaDescription: "further than the back-test reaches",
      }),
    countAxis(log ? decades(last, width) : evenly(last, width), `Number of ${nouns.class_many}`),
    Plot.gridY(axis.ticks, { strokeOpacity: 0.12 }),
    Plot.ruleY([bottom]),
    Plot.line(chance, { x: "k", y: "rate", ariaDescription: "chance", stroke: colours.quiet, strokeDasharray: "1 3" }),
    Plot.areaY(points.filter((d) => d.lower !== undefined), {
      x: "k", y1: "low", y2: "high", z: "name", fill: colour, fillOpacity: 0.16,
      ariaDescription: "interval",
    }),
    target >= bottom && target !== null &&
      Plot.ruleY([target], { stroke: colours.quiet, strokeDasharray: "6 3" }),
    asked.k !== null && Plot.ruleX([asked.k], { stroke: colours.quiet, strokeDasharray: "6 3" }),
    Plot.line(points.filter((d) => d.measured), {
      x: "k", y: "rate", z: "name", stroke: colour, strokeWidth: 2.6, ariaDescription: "measured",
    }),
    Plot.line(points.filter((d) => !d.measured || d.k === d.series.pilot.n_classes), {
      x: "k", y: "rate", z: "name", stroke: colour, strokeWidth: 2.2, strokeDasharray: "7 4",
      ariaDescription: "forecast",
    }),
    Plot.dot(shown.map((series) => drawn(pointAt(series, series.pilot.n_classes))), {
      x: "k", y: "rate", fill: colour, r: 5, ariaDescription: "the pilot",
    }),
    asked.k !== null &&
      Plot.dot(at(asked.k), {
        x: "k", y: "rate", stroke: colour, fill: colours.ground, r: 5,
        strokeWidth: 2.2, ariaDescription: "asked",
      }),
    ...names(at(last), "rate", colour, colours),
    ...notes(shown, size, supported, last, { colours, log, width, bottom }),
    ...(target >= bottom && target !== null ? [targetNote(target, at(2), at(last), axis, colours)] : []),
    colours === ON_PAGE &&
      Plot.tip(points, Plot.pointerX({ x: "k", y: "rate", title: (d) => hoverText(d, error), lineHeight: 1.25 })),
  ];
  return Plot.plot({
    ...frame(width, colours, axis.ticks),
    x: { type: log ? "log" : "linear", domain: [log ? 2 : 0, last] },
    y: axis.scale(measureName(error)),
    ariaLabel: curveWords(shown, last, error),
    marks: marks.filter(Boolean),
  });
}

// What the lines and areas are, written next to them.
function notes(shown, size, supported, last, { colours, log, width, bottom }) {
  if (!shown.length) return [];
  const share = (k) => (log ? Math.log(k / 2) / Math.log(last / 2) : k / last);
  const side = (k) => (share(k) > 0.4 ? { textAnchor: "end", dx: -6 } : { textAnchor: "start", dx: 6 });
  const quiet = { fill: colours.quiet, fontSize: 12 };
  const words = [
    Plot.text([{ k: size }], {
      x: "k", y: bottom, text: () => `pilot: ${classes(size)}`, dy: -10, lineAnchor: "bottom", ...side(size), ...quiet,
      stroke: colours.ground, strokeWidth: 4, // chance may run behind it
    }),
    Plot.ruleX([size], { stroke: colours.quiet, strokeOpacity: 0.5 }),
  ];
  if (supported < last && width * (1 - share(supported)) > 140) { // or it would stand beside the grey
    words.push(
      Plot.text([{ k: last }], {
        x: "k", y: bottom, text: () => "further than the\nback-test reaches", dy: -10, dx: -8,
        lineAnchor: "bottom", textAnchor: "end", ...quiet,
      }),
    );
  }
  return words;
}

// What is wanted, at that end of its line where the curves are farther from it.
function targetNote(target, first, last, axis, colours) {
  const far = (points) =>
    Math.min(...points.map((d) => Math.abs(axis.share(d.rate) - axis.share(target))).filter(Number.isFinite));
  const left = far(first) > 0.12 || far(first) >= far(last);
  return Plot.text([{ y: target }], {
    y: "y", text: () => `${percent(target)} wanted`,
    dy: axis.share(target) > 0.06 ? 9 : left ? -30 : -44, // above the notes along the bottom
    ...(left ? { frameAnchor: "left", dx: 4 } : { frameAnchor: "right", dx: -8 }),
    fill: colours.quiet, fontSize: 12,
  });
}

function drawBacktest(shown, tolerance, { width, error, colours = ON_PAGE }) {
  const steps = shown.flatMap((found) =>
    found.steps.map((step) => ({
      found, k: step.classes, ratio: step.ratio, error: step.error,
      forecast: rateOf(mean(step.forecasts), error), name: found.name,
    })),
  );
  const draws = shown.flatMap((found) =>
    found.steps.flatMap((step) =>
      step.forecasts.map((value) => ({ found, k: step.classes, forecast: rateOf(value, error) })),
    ),
  );
  const observed = shown.map((found) => ({ found, k: found.n_classes, forecast: rateOf(found.observed, error) }));
  const near = (d) => [Math.max(0, d.forecast - tolerance), Math.min(1, d.forecast + tolerance)];
  const axis = rateAxis([...draws, ...observed].map((d) => d.forecast), observed.flatMap(near), error);
  const [bottom] = axis.domain;
  const colour = (d) => colours.series(d.found.index);
  const one = new Set(observed.map((d) => d.forecast)).size === 1;
  const last = Math.max(...observed.map((d) => d.k), 2);
  const first = Math.min(...steps.map((d) => d.k), last);
  const margin = (last / first) ** 0.06;
  return Plot.plot({
    ...frame(width, colours, axis.ticks),
    height: 300,
    x: { type: "log", domain: [first / margin, last * margin] },
    y: axis.scale(`${measureName(error)} forecast for all ${nouns.class_many}`),
    ariaLabel: backtestWords(steps, error),
    marks: [
      countAxis([...new Set([...steps.map((d) => d.k), last])], `Forecast from so many ${nouns.class_many}`),
      one &&
        Plot.rect([observed[0]], {
          y1: Math.max(bottom, near(observed[0])[0]), y2: near(observed[0])[1],
          fill: colours.quiet, fillOpacity: 0.12, ariaDescription: "good enough",
        }),
      Plot.gridY(axis.ticks, { strokeOpacity: 0.12 }),
      Plot.ruleY(observed, {
        y: "forecast", stroke: one ? "currentColor" : colour, strokeOpacity: one ? 1 : 0.5,
        ariaDescription: "measured",
      }),
      Plot.dot(draws, { x: "k", y: "forecast", fill: colour, fillOpacity: 0.3, r: 2.5 }),
      Plot.line(steps, { x: "k", y: "forecast", z: "name", stroke: colour, strokeWidth: 2.2 }),
      Plot.dot(steps, { x: "k", y: "forecast", fill: colour, r: 4.5 }),
      ...names(steps.filter((d) => d.k === d.found.steps[0].classes), "forecast", colour, colours),
      one &&
        Plot.text([observed[0]], {
          x: "k", y: "forecast", text: (d) => `measured: ${percent(d.forecast)}`, dy: -8,
          textAnchor: "end", fontSize: 12, fill: "currentColor",
        }),
      colours === ON_PAGE &&
        Plot.tip(steps, Plot.pointerX({
          x: "k", y: "forecast", title: (d) =>
            `${d.name}, from ${classes(d.k)}\n${percent(d.forecast)} forecast, ` +
            `${percent(rateOf(d.found.observed, error))} measured\n${inPoints(d.error)} off on average`,
        })),
    ].filter(Boolean),
  });
}

// -- parts ----------------------------------------------------------------------------------------

function frame(width, colours, ticks) {
  const longest = Math.max(...ticks.map((share) => shortShare(share).length));
  return {
    width, height: width < 480 ? 320 : HEIGHT, marginLeft: Math.max(48, 16 + 8 * longest), marginRight: 30, marginTop: 26,
    marginBottom: 50, insetTop: 4,
    style: { fontSize: "13px", fontFamily: "inherit", background: "none", overflow: "visible" },
    className: colours === ON_PAGE ? "chart" : "paper",
  };
}

// On the page the boxes that show and hide curves say what they are; a picture has none.
function names(ends, y, colour, colours) {
  if (colours === ON_PAGE || ends.length < 2) return [];
  return [
    Plot.text(ends, {
      x: "k", y, text: "name", fill: colour, textAnchor: "end", dx: -10, dy: -10, fontWeight: 600,
    }),
  ];
}

function countAxis(ticks, label) {
  return Plot.axisX(ticks, {
    text: shortCount, label, labelAnchor: "center", labelArrow: "none", labelOffset: 42,
  });
}

// -- accuracy or error rate -----------------------------------------------------------------------

function rateOf(accuracy, error) {
  return error ? 1 - accuracy : accuracy;
}

function measureName(error) {
  return error ? "Error rate" : "Accuracy";
}

// An axis as wide as what is drawn, its ends round and labelled: see plotting/style.py.
function rateAxis(lines, areas, error) {
  const logTicks = error ? errorTicks(lines, areas) : null;
  const all = [...lines, ...areas];
  const ticks = logTicks ?? (all.length ? shareTicks(all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))) : [0, 1]);
  const [bottom, top] = [ticks[0], ticks.at(-1)];
  const kept = (rate) => (rate >= bottom ? rate : NaN); // a log axis does not reach nothing
  return {
    ticks,
    domain: [bottom, top],
    share: (rate) => (logTicks ? Math.log(rate / bottom) / Math.log(top / bottom) : (rate - bottom) / (top - bottom)),
    scale: (label) => ({
      type: logTicks ? "log" : "linear", domain: [bottom, top], ticks, tickFormat: shortShare, label,
      labelArrow: "none",
    }),
    drawn: (d, error) => ({
      ...d, rate: kept(rateOf(d.accuracy, error)),
      low: d.lower === undefined ? undefined : Math.max(bottom, rateOf(error ? d.upper : d.lower, error)),
      high: d.lower === undefined ? undefined : Math.max(bottom, rateOf(error ? d.lower : d.upper, error)),
    }),
  };
}

function shareTicks(least, most) {
  const middle = (least + most) / 2;
  const half = Math.max(most - least, 0.2 * Math.min(middle, 1 - middle), 0.0001) / 2;
  const [low, high] = [Math.max(0, middle - half), Math.min(1, middle + half)];
  for (let power = -6; ; power++) {
    for (const m of [1, 2, 5]) {
      const step = Number(`${m}e${power}`);
      const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
      if (last - first > 6) continue;
      return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toFixed(9)));
    }
  }
}

function errorTicks(lines, areas) {
  const smallest = (values, most) => values.reduce((a, b) => (b >= SMALLEST && b < a ? b : a), most);
  const least = smallest(lines, 1);
  const most = [...lines, ...areas].reduce((a, b) => Math.max(a, b), 0);
  if (most < 10 * least) return null;
  const low = Math.min(least, Math.max(least / 10, smallest(areas, least)));
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const rungs = [];
    for (let power = -8; power <= 0; power++) rungs.push(...steps.map((m) => Number(`${m}e${power}`)));
    const first = Math.max(0, rungs.findLastIndex((rung) => rung <= low * (1 + 1e-9)));
    const last = rungs.findIndex((rung) => rung >= Math.min(1, most * (1 - 1e-9)));
    if (last - first <= 8 || steps.length === 1) return rungs.slice(first, last + 1);
  }
}

function curveAxis(points, target, error) {
  const limits = points.filter((d) => d.lower !== undefined);
  return rateAxis(
    [...points.map((d) => rateOf(d.accuracy, error)), ...(target === null ? [] : [target])],
    limits.flatMap((d) => [rateOf(d.lower, error), rateOf(d.upper, error)]),
    error,
  );
}

// A log axis does not reach nothing: then a caption has to say where the curve is.
function leavesAxis(points, target, error) {
  const [bottom] = curveAxis(points, target === null ? null : rateOf(target, error), error).domain;
  return points.some((d) => rateOf(d.accuracy, error) < bottom);
}

function nearChance(points) {
  return points.some((d) => (d.lower ?? d.accuracy) - 1 / d.k < NEAR_CHANCE);
}

// The pictures for those who cannot see them.
function curveWords(shown, last, error) {
  const said = (series, k) => `${percent(rateOf(accuracyAt(series, k), error))} at ${thousands(k)}`;
  const each = shown.map((series) => {
    const size = series.pilot.n_classes;
    const far = last > size ? `, ${said(series, last)} forecast` : "";
    return `${series.name}: ${said(series, size)} measured${far}`;
  });
  const table = error ? "The table below has accuracies." : "The table below has the same numbers.";
  return `${measureName(error)} against number of ${nouns.class_many}. ${each.map((text) => text + ". ").join("")}${table}`;
}

function backtestWords(steps, error) {
  const each = steps.map((d) => `${d.name}, from ${thousands(d.k)}: ${percent(d.forecast)}. `).join("");
  const measured = [...new Set(steps.map((d) => percent(rateOf(d.found.observed, error))))].join(", ");
  return (
    `${measureName(error)} of all ${nouns.class_many} as forecast from fewer. ${each}Measured: ${measured}. ` +
    `The table has ${error ? "accuracies" : "the numbers"}.`
  );
}

// Points of a curve up to the last number of classes: accuracy everywhere, limits where known.
function curvePoints(series, last) {
  const size = series.pilot.n_classes;
  const found = ladder(last).concat(size, size + 1, last).filter((k) => k <= last);
  return [...new Set(found)].sort((a, b) => a - b).map((k) => pointAt(series, k));
}

function pointAt(series, k) {
  series.cache ??= new Map();
  if (!series.cache.has(k)) {
    const [lower, upper] = limitsAt(series, k) ?? [];
    const measured = k <= series.pilot.n_classes;
    const point = { series, name: series.name, k, accuracy: accuracyAt(series, k), lower, upper };
    series.cache.set(k, { ...point, measured });
  }
  return series.cache.get(k);
}

function hoverText(d, error) {
  const within = d.lower === undefined ? "" : ` (${percent(held.confidence)} interval ${rangeOf(d.lower, d.upper, error)})`;
  const how = d.measured ? "measured" : "forecast";
  return `${d.name}, ${how}\n${classes(d.k)}: ${percent(rateOf(d.accuracy, error))}${within}`;
}

function rangeOf(lower, upper, error) {
  return error ? percentRange(1 - upper, 1 - lower) : percentRange(lower, upper);
}

// Whole numbers, evenly on a log scale; the same ones whatever the last is, so that they are kept.
function ladder(last) {
  const rungs = [];
  for (let i = 0; ; i++) {
    const k = Math.round(2 * 10 ** (i / 24));
    if (k >= last) return [...new Set(rungs), last];
    rungs.push(k);
  }
}

// Round numbers for the axis, no more than there is room for.
function decades(last, width) {
  const room = width / 90;
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const found = [];
    for (let power = 1; power <= last; power *= 10) found.push(...steps.map((m) => m * power));
    const ticks = found.filter((k) => k >= 2 && k <= last);
    if (ticks.length <= room) return ticks;
    if (steps.length === 1) return ticks.filter((_, i) => i % Math.ceil(ticks.length / room) === 0);
  }
}

function evenly(last, width) {
  const rough = last / Math.max(2, width / 110);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * power >= rough) * power;
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
}

function shortCount(k) {
  for (const [size, word] of [[1e12, "T"], [1e9, "B"], [1e6, "M"]]) {
    if (k >= size) return `${Number((k / size).toPrecision(3))}${word}`;
  }
  return thousands(k);
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
