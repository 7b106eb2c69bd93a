"use strict";
// The two pictures: accuracy against classes, and the back-test. Drawn by Observable Plot.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a07800", "#56b4e9", "#7f7f7f"];
const ON_PAGE = { series: (i) => `var(--series-${i % COLOURS.length})`, quiet: "var(--quiet)", ground: "var(--ground)" };
const ON_PAPER = { series: (i) => COLOURS[i % COLOURS.length], quiet: "#5c6670", ground: "#ffffff" };
const HEIGHT = 380;

function drawCurve(shown, asked, { width, log, colours = ON_PAGE }) {
  const last = asked.last;
  const points = shown.flatMap((series) => curvePoints(series, last));
  const size = Math.max(...shown.map((series) => series.pilot.n_classes), 2);
  const supported = Math.min(...shown.map((series) => series.supported ?? Infinity));
  const chance = shown.length ? ladder(last).map((k) => ({ k, accuracy: 1 / k })) : [];
  const colour = (d) => colours.series(d.series.index);
  const marks = [
    supported < last &&
      Plot.rect([{ x1: supported, x2: last, y1: 0, y2: 1 }], {
        x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: colours.quiet, fillOpacity: 0.1,
        ariaDescription: "further than the back-test reaches",
      }),
    countAxis(log ? decades(last, width) : evenly(last, width), `Number of ${nouns.class_many}`),
    Plot.gridY({ strokeOpacity: 0.12 }),
    Plot.ruleY([0]),
    Plot.line(chance, { x: "k", y: "accuracy", stroke: colours.quiet, strokeDasharray: "1 3" }),
    Plot.areaY(points.filter((d) => d.lower !== undefined), {
      x: "k", y1: "lower", y2: "upper", z: "name", fill: colour, fillOpacity: 0.16,
      ariaDescription: "interval",
    }),
    asked.target !== null &&
      Plot.ruleY([asked.target], { stroke: colours.quiet, strokeDasharray: "6 3" }),
    asked.k !== null && Plot.ruleX([asked.k], { stroke: colours.quiet, strokeDasharray: "6 3" }),
    Plot.line(points.filter((d) => d.measured), {
      x: "k", y: "accuracy", z: "name", stroke: colour, strokeWidth: 2.6, ariaDescription: "measured",
    }),
    Plot.line(points.filter((d) => !d.measured || d.k === d.series.pilot.n_classes), {
      x: "k", y: "accuracy", z: "name", stroke: colour, strokeWidth: 2.2, strokeDasharray: "7 4",
      ariaDescription: "forecast",
    }),
    Plot.dot(shown.map((series) => pointAt(series, series.pilot.n_classes)), {
      x: "k", y: "accuracy", fill: colour, r: 5, ariaDescription: "the pilot",
    }),
    asked.k !== null &&
      Plot.dot(shown.map((series) => pointAt(series, asked.k)), {
        x: "k", y: "accuracy", stroke: colour, fill: colours.ground, r: 5,
        strokeWidth: 2.2, ariaDescription: "asked",
      }),
    ...names(shown.map((series) => pointAt(series, last)), "accuracy", colour, colours),
    ...notes(shown, size, supported, last, asked, { colours, log, width }),
    colours === ON_PAGE &&
      Plot.tip(points, Plot.pointerX({ x: "k", y: "accuracy", title: hoverText, lineHeight: 1.25 })),
  ];
  return Plot.plot({
    ...frame(width, colours),
    x: { type: log ? "log" : "linear", domain: [log ? 2 : 0, last] },
    y: percentAxis([0, 1], "Accuracy"),
    ariaLabel: `Accuracy against number of ${nouns.class_many}; the table below has the same numbers`,
    marks: marks.filter(Boolean),
  });
}

// What the lines and areas are, written next to them.
function notes(shown, size, supported, last, asked, { colours, log, width }) {
  if (!shown.length) return [];
  const share = (k) => (log ? Math.log(k / 2) / Math.log(last / 2) : k / last);
  const side = (k) => (share(k) > 0.4 ? { textAnchor: "end", dx: -6 } : { textAnchor: "start", dx: 6 });
  const quiet = { fill: colours.quiet, fontSize: 12 };
  const words = [
    Plot.text([{ k: size }], {
      x: "k", y: 0, text: () => `pilot: ${classes(size)}`, dy: -10, lineAnchor: "bottom", ...side(size), ...quiet,
      stroke: colours.ground, strokeWidth: 4, // chance may run behind it
    }),
    Plot.ruleX([size], { stroke: colours.quiet, strokeOpacity: 0.5 }),
  ];
  if (supported < last && width * (1 - share(supported)) > 140) { // or it would stand beside the grey
    words.push(
      Plot.text([{ k: last }], {
        x: "k", y: 0, text: () => "further than the\nback-test reaches", dy: -10, dx: -8,
        lineAnchor: "bottom", textAnchor: "end", ...quiet,
      }),
    );
  }
  if (asked.target !== null) {
    const far = (k) => Math.min(...shown.map((series) => Math.abs(pointAt(series, k).accuracy - asked.target)));
    const end = far(2) > 0.12 || far(2) >= far(last) ? { frameAnchor: "left", dx: 4 } : { frameAnchor: "right", dx: -8 };
    words.push(
      Plot.text([{ y: asked.target }], {
        y: "y", text: () => `${percent(asked.target)} wanted`, dy: 9, ...end, ...quiet,
      }),
    );
  }
  return words;
}

function drawBacktest(shown, tolerance, { width, colours = ON_PAGE }) {
  const steps = shown.flatMap((found) =>
    found.steps.map((step) => ({
      found, k: step.classes, ratio: step.ratio, error: step.error,
      forecast: mean(step.forecasts), name: found.name,
    })),
  );
  const draws = shown.flatMap((found) =>
    found.steps.flatMap((step) =>
      step.forecasts.map((forecast) => ({ found, k: step.classes, forecast })),
    ),
  );
  const observed = shown.map((found) => ({ found, k: found.n_classes, forecast: found.observed }));
  const values = [...draws, ...observed].map((d) => d.forecast);
  const low = Math.min(...values, ...observed.map((d) => d.forecast - tolerance));
  const high = Math.max(...values, ...observed.map((d) => d.forecast + tolerance));
  const colour = (d) => colours.series(d.found.index);
  const one = new Set(observed.map((d) => d.forecast)).size === 1;
  const last = Math.max(...observed.map((d) => d.k), 2);
  const first = Math.min(...steps.map((d) => d.k), last);
  const margin = (last / first) ** 0.06;
  return Plot.plot({
    ...frame(width, colours),
    height: 300,
    x: { type: "log", domain: [first / margin, last * margin] },
    y: percentAxis([Math.max(0, low - 0.03), Math.min(1, high + 0.03)], `Forecast for all ${nouns.class_many}`),
    ariaLabel: `Forecasts from fewer ${nouns.class_many} against what was measured; the table has the numbers`,
    marks: [
      countAxis([...new Set([...steps.map((d) => d.k), last])], `Forecast from so many ${nouns.class_many}`),
      one &&
        Plot.rect([observed[0]], {
          y1: Math.max(0, observed[0].forecast - tolerance),
          y2: Math.min(1, observed[0].forecast + tolerance),
          fill: colours.quiet, fillOpacity: 0.12, ariaDescription: "good enough",
        }),
      Plot.gridY({ strokeOpacity: 0.12 }),
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
            `${percent(d.found.observed)} measured\n${fixed(100 * d.error, 1)} points off on average`,
        })),
    ].filter(Boolean),
  });
}

// -- parts ----------------------------------------------------------------------------------------

function frame(width, colours) {
  return {
    width, height: width < 480 ? 320 : HEIGHT, marginLeft: 48, marginRight: 30, marginTop: 26,
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

function percentAxis(domain, label) {
  return { domain, label, labelArrow: "none", tickFormat: (y) => `${fixed(100 * y, 0)}%`, ticks: 5 };
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

function hoverText(d) {
  const within = d.lower === undefined ? "" : ` (${percent(held.confidence)} interval ${percentRange(d.lower, d.upper)})`;
  const how = d.measured ? "measured" : "forecast";
  return `${d.name}, ${how}\n${classes(d.k)}: ${percent(d.accuracy)}${within}`;
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
