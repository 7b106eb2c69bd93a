"use strict";
// Connects the fields of the page with the pictures and the answers.

const data = JSON.parse(document.getElementById("headcount-data").textContent);
const { metric, nouns } = data; // what is forecast, and what the user calls classes and probes
const all = data.series.map((series, index) => ({ ...series, index }));
const backtests = data.backtests.map((backtest, index) => ({ ...backtest, index }));
const element = (id) => document.getElementById(id);

const showsLoss = () => element("measure-loss")?.checked ?? false;

if (all.length) startCurve();
if (backtests.some((backtest) => backtest.steps.length)) startBacktest();
startRest();

// -- the curve ------------------------------------------------------------------------------------

function startCurve() {
  const [field, slider, target] = ["ask-k", "ask-slider", "ask-target"].map(element);
  const size = Math.max(...all.map((series) => series.n_classes));
  const largest = Math.max(...data.classes, size);
  const widest = Math.max(1e6, 10 * largest);
  const most = Number(field.max);
  const steps = Number(slider.max);
  const toSlider = (k) => Math.round((steps * Math.log(k / 2)) / Math.log(widest / 2));
  const fromSlider = (step) => roundCount(2 * (widest / 2) ** (step / steps));

  const shown = () => all.filter((series) => element(`series-${series.index}`)?.checked ?? true);
  const askedK = () => wholeNumber(field.value, 2, most);
  const askedTarget = () => {
    const value = shownAs(Number(target.value) / 100, showsLoss());
    return target.value.trim() !== "" && value > 0 && value <= 1 ? value : null;
  };
  const switchTarget = () => {
    element("target-name").textContent = showsLoss() ? `${metric.loss_title} allowed` : `${metric.title} to keep`;
    element("curve-name").textContent = measureName(showsLoss());
    if (target.value.trim() !== "") target.value = tidy(100 - Number(target.value));
  };
  const state = () => {
    const k = askedK();
    return { k, target: askedTarget(), last: Math.max(largest, 2 * size, k ?? 2) };
  };
  const draw = () => {
    const log = element("axis-log").checked;
    const width = element("curve").clientWidth;
    if (!width) return;
    const points = shown().flatMap((series) => curvePoints(series, state().last));
    element("chance-note").hidden = !nearChance(points);
    const drawing = drawCurve(shown(), state(), { width, log, loss: showsLoss() });
    element("zero-note").hidden = !leavesAxis(points, askedTarget(), showsLoss());
    element("curve").replaceChildren(drawing);
  };
  const answer = () => {
    const { k, target: wanted } = state();
    field.setAttribute("aria-invalid", String(k === null));
    target.setAttribute("aria-invalid", String(wanted === null));
    element("answer-k").textContent =
      k === null ? `Give a whole number from 2 to ${thousands(most)}.` : sayValue(shown(), k, showsLoss());
    element("answer-target").textContent =
      wanted === null
        ? `Give a percentage ${showsLoss() ? "from 0, below" : "above 0, up to"} 100.`
        : sayCapacity(shown(), wanted, showsLoss());
    slider.setAttribute("aria-valuetext", k === null ? "no number" : classes(k));
  };
  const refresh = () => { answer(); draw(); };

  slider.addEventListener("input", () => { field.value = fromSlider(slider.value); refresh(); });
  field.addEventListener("input", () => {
    const k = askedK();
    if (k !== null) slider.value = toSlider(k);
    refresh();
  });
  target.addEventListener("input", refresh);
  for (const choice of document.querySelectorAll("[name=measure]")) {
    choice.addEventListener("change", () => { switchTarget(); refresh(); });
  }
  for (const choice of document.querySelectorAll("[name=axis], [name=series]")) {
    choice.addEventListener("change", refresh);
  }
  element("curve-csv").addEventListener("click", () =>
    offer("headcount-curve.csv", "text/csv", curveCsv(shown(), state().last)));
  element("curve-svg").addEventListener("click", () => {
    const log = element("axis-log").checked;
    const drawing = drawCurve(shown(), state(), { width: 800, log, loss: showsLoss(), colours: ON_PAPER });
    offer("headcount-curve.svg", "image/svg+xml", asSvg(drawing));
  });
  slider.value = toSlider(askedK());
  target.value = tidy(100 - 100 * roundError(1 - valueAt(all[0].curve, largest)));
  if (showsLoss()) switchTarget();
  answer();
  whenResized(element("curve"), draw);
}

function sayValue(shown, k, loss) {
  if (!shown.length) return "Show at least one curve.";
  const many = shown.length > 1;
  const values = shown.map(({ name, n_classes, curve }) => {
    const limits = limitsAt(curve, k);
    const notes = k <= n_classes ? ["measured"] : [];
    if (limits) notes.push(`${percent(data.confidence)} interval ${rangeOf(...limits, loss)}`);
    const value = percent(shownAs(valueAt(curve, k), loss)) + (notes.length ? ` (${notes.join(", ")})` : "");
    return many ? `\n${name}: ${value}` : value;
  });
  const reach = Math.min(...shown.map((series) => series.supported ?? Infinity));
  const far = k > reach ? ` The back-test reaches ${about(reach)} ${nouns.class_many}: take this as a guess.` : "";
  const start = `At ${classes(k)}${loss ? `, ${metric.loss_label}` : ""}`;
  return many ? `${start}${values.join("")}${far && "\n" + far.trim()}` : `${start}: ${values[0]}.${far}`;
}

function sayCapacity(shown, target, loss) {
  if (!shown.length) return "";
  const level = percent(data.confidence);
  const wanted = (loss ? `${withArticle(metric.loss_label)} of ` : "") + percent(shownAs(target, loss));
  const capacities = shown.map(({ n_classes, curve }) => {
    const count = capacityOf(curve, target);
    if (count === 1) return `even two ${nouns.class_many} are too many for ${wanted}`;
    const limits = capacityLimits(curve, target);
    const within =
      limits && limits[0] !== limits[1] ? ` (${level} interval ${describeCapacities(limits, n_classes)})` : "";
    return `stays at or ${loss ? "below" : "above"} ${wanted} up to ${describeCapacity(count, n_classes)}${within}`;
  });
  if (shown.length > 1) return shown.map((series, i) => `${series.name}: ${capacities[i]}`).join("\n");
  return capacities[0].startsWith("even") ? `E${capacities[0].slice(1)}.` : `It ${capacities[0]}.`;
}

// -- the back-test --------------------------------------------------------------------------------

function startBacktest() {
  const tolerance = element("ask-tolerance");
  const asked = () => {
    const value = Number(tolerance.value) / 100;
    return tolerance.value.trim() !== "" && value > 0 && value < 1 ? value : null;
  };
  const shown = () => backtests.filter((backtest) => element(`backtest-${backtest.index}`)?.checked ?? true);
  const draw = () => {
    const width = element("backtest").clientWidth;
    if (!width) return;
    const options = { width, loss: showsLoss() };
    const drawing = shown().length ? [drawBacktest(shown(), asked() ?? 0.05, options)] : [];
    element("backtest").replaceChildren(...drawing);
  };
  const answer = () => {
    tolerance.setAttribute("aria-invalid", String(asked() === null));
    element("answer-tolerance").textContent =
      asked() === null ? "Give a number of points between 0 and 100." : saySupport(shown(), asked());
  };
  const refresh = () => { answer(); draw(); };
  tolerance.addEventListener("input", refresh);
  for (const choice of document.querySelectorAll("[name=backtest], [name=measure]")) {
    choice.addEventListener("change", refresh);
  }
  element("backtest-csv").addEventListener("click", () =>
    offer("headcount-backtest.csv", "text/csv", backtestCsv(shown())));
  element("backtest-svg").addEventListener("click", () => {
    const options = { width: 800, loss: showsLoss(), colours: ON_PAPER };
    const drawing = drawBacktest(shown(), asked() ?? 0.05, options);
    offer("headcount-backtest.svg", "image/svg+xml", asSvg(drawing));
  });
  answer();
  whenResized(element("backtest"), draw);
}

// As `headcount.uncertainty.reach` does: how far forecasts are good on average, on a log scale.
function reachOf(steps, tolerance) {
  let [ahead, chance, before] = [0, 1, { ratio: 1, error: 0 }];
  for (const step of steps) {
    const within = (error) => chanceWithin(tolerance, error, step.error_spread);
    let sum = 0;
    for (let place = 0.5; place < N_PLACES; place += 1) {
      sum += within(before.error + (step.error - before.error) * (place / N_PLACES));
    }
    ahead += chance * (sum / N_PLACES) * Math.log(step.ratio / before.ratio);
    chance *= within(step.error);
    before = step;
  }
  return Number(Math.exp(ahead).toPrecision(2));
}

function chanceWithin(tolerance, error, spread) {
  if (tolerance <= 0) return error <= 0 ? 1 : 0;
  const power = Math.PI / Math.sqrt(3) / Math.max(spread, LEAST_SPREAD);
  return 1 / (1 + (error / tolerance) ** power);
}

function saySupport(shown, tolerance) {
  const many = shown.length > 1;
  const reaches = shown.map((backtest) => {
    const ratio = reachOf(backtest.steps, tolerance);
    const reach = about(ratio * backtest.n_classes * (1 + ROUND_OFF));
    const name = many ? `\n${backtest.name}: ` : "";
    if (ratio < NEARLY_ONE) return `${name}no forecast beyond the pilot`;
    return `${name}forecasts up to ${reach} ${nouns.class_many}`;
  });
  if (many) return `That supports${reaches.join("")}`;
  return reaches.length ? `That supports ${reaches[0]}.` : "";
}

// -- the rest -------------------------------------------------------------------------------------

function startRest() {
  element("data-json").addEventListener("click", () =>
    offer("headcount-report.json", "application/json", JSON.stringify(data, null, 1)));
  const copy = element("copy-code");
  copy?.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(element("code").textContent);
      element("copied").textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(element("code"));
      element("copied").textContent = "Selected: copy it with your keyboard.";
    }
  });
}

function whenResized(box, draw) {
  let width = null;
  new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    draw();
  }).observe(box);
}

function wholeNumber(text, least, most) {
  const value = Number(text);
  const sound = text.trim() !== "" && Number.isInteger(value) && value >= least && value <= most;
  return sound ? value : null;
}

// A round error rate that is just kept; half wrong at most.
function roundError(error) {
  const power = 10 ** Math.floor(Math.log10(Math.max(error, 0.001)));
  return Math.min(0.5, [1, 2, 5, 10].find((m) => m * power >= error) * power);
}

function withArticle(noun) {
  return `${/^[aeiou]/i.test(noun) ? "an" : "a"} ${noun}`;
}

function tidy(value) {
  return String(Number(value.toFixed(8)));
}

// Two digits are enough on a slider; the field takes any number.
function roundCount(count) {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1);
  return Math.max(2, Math.round(count / step) * step);
}
