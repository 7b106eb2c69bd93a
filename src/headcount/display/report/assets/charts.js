"use strict";
// The two pictures: the metric against classes, and the back-test. Drawn by Observable Plot.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#a07800", "#56b4e9", "#7f7f7f"];
const ON_PAGE = { series: (i) => `var(--series-${i % COLOURS.length})`, quiet: "var(--quiet)", ground: "var(--ground)" };
const ON_PAPER = { series: (i) => COLOURS[i % COLOURS.length], quiet: "#5c6670", ground: "#ffffff" };
const HEIGHT = 380;

const SMALLEST = 1e-8; // of what is missing to one, where a log axis may begin
const NEAR_CHANCE = 0.1; // from there on guessing matters

function drawCurve(shown, asked, { width, log, loss, colours = ON_PAGE }) {
  const last = asked.last;
  const known = shown.flatMap((series) => curvePoints(series, last));
  const target = asked.target === null ? null : shownAs(asked.target, loss);
  const axis = curveAxis(known, target, loss);
  const [bottom, top] = axis.domain;
  const place = (point) => axis.place(point, loss);
  const placesAt = (k) => shown.map((series) => place(pointAt(series, k)));
  const points = known.map(place);
  const size = Math.max(...shown.map((series) => series.n_classes), 2);
  const supported = Math.min(...shown.map((series) => series.supported ?? Infinity));
  const chance = nearChance(known)
    ? guessPoints(last, loss).filter((d) => d.rate >= bottom && d.rate <= top)
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
    Plot.line(points.filter((d) => !d.measured || d.k === d.series.n_classes), {
      x: "k", y: "rate", z: "name", stroke: colour, strokeWidth: 2.2, strokeDasharray: "7 4",
      ariaDescription: "forecast",
    }),
    Plot.dot(shown.map((series) => place(pointAt(series, series.n_classes))), {
      x: "k", y: "rate", fill: colour, r: 5, ariaDescription: "the pilot",
    }),
    asked.k !== null &&
      Plot.dot(placesAt(asked.k), {
        x: "k", y: "rate", stroke: colour, fill: colours.ground, r: 5,
        strokeWidth: 2.2, ariaDescription: "asked",
      }),
    ...names(placesAt(last), "rate", colour, colours),
    ...notes(shown, size, supported, last, { colours, log, width, bottom }),
    ...(target >= bottom && target !== null ? [targetNote(target, placesAt(2), placesAt(last), axis, colours)] : []),
    colours === ON_PAGE &&
      Plot.tip(points, Plot.pointerX({ x: "k", y: "rate", title: (d) => hoverText(d, loss), lineHeight: 1.25 })),
  ];
  return Plot.plot({
    ...frame(width, colours, axis.ticks),
    x: { type: log ? "log" : "linear", domain: [log ? 2 : 0, last] },
    y: axis.scale(measureName(loss)),
    ariaLabel: curveWords(shown, last, loss),
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

function drawBacktest(shown, tolerance, { width, loss, colours = ON_PAGE }) {
  const steps = shown.flatMap((backtest) =>
    backtest.steps.map((step) => ({
      backtest, k: step.classes, ratio: step.ratio, error: step.error,
      forecast: shownAs(mean(step.forecasts), loss), name: backtest.name,
    })),
  );
  const draws = shown.flatMap((backtest) =>
    backtest.steps.flatMap((step) =>
      step.forecasts.map((value) => ({ backtest, k: step.classes, forecast: shownAs(value, loss) })),
    ),
  );
  const observed = shown.map((backtest) => ({
    backtest, k: backtest.n_classes, forecast: shownAs(backtest.observed, loss),
  }));
  const near = (d) => [Math.max(0, d.forecast - tolerance), Math.min(1, d.forecast + tolerance)];
  const axis = rateAxis([...draws, ...observed].map((d) => d.forecast), observed.flatMap(near), loss);
  const [bottom] = axis.domain;
  const colour = (d) => colours.series(d.backtest.index);
  const alike = new Set(observed.map((d) => d.forecast)).size === 1;
  const last = Math.max(...observed.map((d) => d.k), 2);
  const first = Math.min(...steps.map((d) => d.k), last);
  const margin = (last / first) ** 0.06;
  return Plot.plot({
    ...frame(width, colours, axis.ticks),
    height: 300,
    x: { type: "log", domain: [first / margin, last * margin] },
    y: axis.scale(`${measureName(loss)} forecast for all ${nouns.class_many}`),
    ariaLabel: backtestWords(steps, loss),
    marks: [
      countAxis([...new Set([...steps.map((d) => d.k), last])], `Forecast from so many ${nouns.class_many}`),
      alike &&
        Plot.rect([observed[0]], {
          y1: Math.max(bottom, near(observed[0])[0]), y2: near(observed[0])[1],
          fill: colours.quiet, fillOpacity: 0.12, ariaDescription: "good enough",
        }),
      Plot.gridY(axis.ticks, { strokeOpacity: 0.12 }),
      Plot.ruleY(observed, {
        y: "forecast", stroke: alike ? "currentColor" : colour, strokeOpacity: alike ? 1 : 0.5,
        ariaDescription: "measured",
      }),
      Plot.dot(draws, { x: "k", y: "forecast", fill: colour, fillOpacity: 0.3, r: 2.5 }),
      Plot.line(steps, { x: "k", y: "forecast", z: "name", stroke: colour, strokeWidth: 2.2 }),
      Plot.dot(steps, { x: "k", y: "forecast", fill: colour, r: 4.5 }),
      ...names(steps.filter((d) => d.k === d.backtest.steps[0].classes), "forecast", colour, colours),
      alike &&
        Plot.text([observed[0]], {
          x: "k", y: "forecast", text: (d) => `measured: ${percent(d.forecast)}`, dy: -8,
          textAnchor: "end", fontSize: 12, fill: "currentColor",
        }),
      colours === ON_PAGE &&
        Plot.tip(steps, Plot.pointerX({
          x: "k", y: "forecast", title: (d) =>
            `${d.name}, from ${classes(d.k)}\n${percent(d.forecast)} forecast, ` +
            `${percent(shownAs(d.backtest.observed, loss))} measured\n${inPoints(d.error)} off on average`,
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

// -- a value, or what is missing to one -----------------------------------------------------------

function shownAs(value, loss) {
  return loss ? 1 - value : value;
}

function measureName(loss) {
  return loss ? metric.loss_title : metric.title;
}

// An axis as wide as what is drawn, its ends round and labelled: see plots/style.py.
function rateAxis(lines, areas, loss) {
  const logTicks = loss ? errorTicks(lines, areas) : null;
  const all = [...lines, ...areas];
  const ticks = logTicks ?? (all.length ? shareTicks(all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))) : [0, 1]);
  const [bottom, top] = [ticks[0], ticks.at(-1)];
  const onAxis = (rate) => (rate >= bottom ? rate : NaN); // a log axis does not reach nothing
  return {
    ticks,
    domain: [bottom, top],
    share: (rate) => (logTicks ? Math.log(rate / bottom) / Math.log(top / bottom) : (rate - bottom) / (top - bottom)),
    scale: (label) => ({
      type: logTicks ? "log" : "linear", domain: [bottom, top], ticks, tickFormat: shortShare, label,
      labelArrow: "none",
    }),
    place: (point, loss) => ({
      ...point, rate: onAxis(shownAs(point.value, loss)),
      low: point.lower === undefined ? undefined : Math.max(bottom, shownAs(loss ? point.upper : point.lower, loss)),
      high: point.lower === undefined ? undefined : Math.max(bottom, shownAs(loss ? point.lower : point.upper, loss)),
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

function curveAxis(points, target, loss) {
  const limits = points.filter((d) => d.lower !== undefined);
  return rateAxis(
    [...points.map((d) => shownAs(d.value, loss)), ...(target === null ? [] : [target])],
    limits.flatMap((d) => [shownAs(d.lower, loss), shownAs(d.upper, loss)]),
    loss,
  );
}

// A log axis does not reach nothing: then a caption has to say where the curve is.
function leavesAxis(points, target, loss) {
  const [bottom] = curveAxis(points, target === null ? null : shownAs(target, loss), loss).domain;
  return data.guess !== null && points.some((d) => shownAs(d.value, loss) < bottom);
}

// Whether guessing comes near, from where it is right half the time at most.
function nearChance(points) {
  return points.some((d) => d.k >= 2 * metric.certain && (d.lower ?? d.value) - valueAt(data.guess, d.k) < NEAR_CHANCE);
}

function guessPoints(last, loss) {
  return drawnAt(data.guess, last).map((k) => ({ k, rate: shownAs(valueAt(data.guess, k), loss) }));
}

// The pictures for those who cannot see them.
function curveWords(shown, last, loss) {
  const valueIn = (series, k) => `${percent(shownAs(valueAt(series.curve, k), loss))} at ${thousands(k)}`;
  const each = shown.map((series) => {
    const size = series.n_classes;
    const far = last > size ? `, ${valueIn(series, last)} forecast` : "";
    return `${series.name}: ${valueIn(series, size)} measured${far}`;
  });
  const table = loss ? `The table below has ${metric.label}.` : "The table below has the same numbers.";
  return `${measureName(loss)} against number of ${nouns.class_many}. ${each.map((text) => text + ". ").join("")}${table}`;
}

function backtestWords(steps, loss) {
  const each = steps.map((d) => `${d.name}, from ${thousands(d.k)}: ${percent(d.forecast)}. `).join("");
  const measured = [...new Set(steps.map((d) => percent(shownAs(d.backtest.observed, loss))))].join(", ");
  return (
    `${measureName(loss)} of all ${nouns.class_many} as forecast from fewer. ${each}Measured: ${measured}. ` +
    `The table has ${loss ? metric.label : "the numbers"}.`
  );
}

function curvePoints(series, last) {
  return drawnAt(series.curve, last).map((k) => pointAt(series, k));
}

// Where a curve has rows, and both ends of what is drawn, which need not have one.
function drawnAt(curve, last) {
  return [2, ...curve.classes.filter((k) => k > 2 && k < last), ...(last > 2 ? [last] : [])];
}

function pointAt(series, k) {
  const [lower, upper] = limitsAt(series.curve, k) ?? [];
  const measured = k <= series.n_classes;
  return { series, name: series.name, k, value: valueAt(series.curve, k), lower, upper, measured };
}

function hoverText(d, loss) {
  const within = d.lower === undefined ? "" : ` (${percent(data.confidence)} interval ${rangeOf(d.lower, d.upper, loss)})`;
  const how = d.measured ? "measured" : "forecast";
  return `${d.name}, ${how}\n${classes(d.k)}: ${percent(shownAs(d.value, loss))}${within}`;
}

function rangeOf(lower, upper, loss) {
  return loss ? percentRange(1 - upper, 1 - lower) : percentRange(lower, upper);
}

// Round numbers for the axis, no more than there is room for.
function decades(last, width) {
  const room = width / 90;
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const round = [];
    for (let power = 1; power <= last; power *= 10) round.push(...steps.map((m) => m * power));
    const ticks = round.filter((k) => k >= 2 && k <= last);
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
