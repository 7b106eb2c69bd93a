// What the report draws with; everything else is left out of the bundle.
export {
  areaY,
  axisX,
  axisY,
  dot,
  gridY,
  line,
  plot,
  pointerX,
  rect,
  ruleX,
  ruleY,
  text,
  tip,
} from "@observablehq/plot";
