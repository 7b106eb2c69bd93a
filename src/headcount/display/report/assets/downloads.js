"use strict";
// What can be taken away: CSV for spreadsheets, SVG for slides, JSON for programs.

const FORMULAS = /^[=+\-@\t\r]/;

// A cell that no spreadsheet takes for a formula or for two cells.
function csvCell(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(value);
  const text = FORMULAS.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function asCsv(columns, rows) {
  return [columns, ...rows].map((row) => row.map(csvCell).join(",") + "\n").join("");
}

// The rows of the curves up to the last number of classes, as Forecast.to_csv has them.
function curveCsv(shown, last) {
  const columns = ["classes", "value", "lower", "upper", "region"];
  const rows = shown.flatMap(({ name, method, n_classes, curve }) =>
    curvePoints({ n_classes, curve }, last).map((point) => {
      const cells = { ...point, classes: point.k, region: point.measured ? "observed" : "forecast" };
      return [name, method, ...columns.map((column) => cells[column])];
    }),
  );
  return asCsv(["name", "method", ...columns], rows);
}

function backtestCsv(shown) {
  const columns = ["name", "method", "classes", "ratio", "forecast", "observed", "error", "bias", "coverage"];
  const rows = shown.flatMap((backtest) =>
    backtest.steps.map((step) => [
      backtest.name, backtest.method, step.classes, step.ratio, mean(step.forecasts),
      backtest.observed, step.error, step.bias, step.coverage,
    ]),
  );
  return asCsv(columns, rows);
}

// A picture that stands alone: on white, with a font of its own.
function asSvg(drawing) {
  const svg = drawing.tagName.toLowerCase() === "svg" ? drawing : drawing.querySelector("svg");
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.style.background = "#ffffff";
  svg.style.color = "#1b2126";
  svg.style.fontFamily = "system-ui, sans-serif";
  return new XMLSerializer().serializeToString(svg);
}

function offer(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
