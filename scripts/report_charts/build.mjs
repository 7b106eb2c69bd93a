// Bundles the chart library into one minified file, its licences at the top. Run: npm run build
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const HOME = new URL(".", import.meta.url);
const OUT = new URL("../../src/headcount/display/report/assets/charts.min.js", HOME);

const { metafile, outputFiles } = await build({
  entryPoints: [new URL("entry.mjs", HOME).pathname],
  bundle: true,
  minify: true,
  format: "iife",
  globalName: "Plot",
  target: "es2020",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  write: false,
  outfile: "charts.min.js",
});

const output = Object.values(metafile.outputs)[0];
const used = Object.entries(output.inputs).filter(([, part]) => part.bytesInOutput > 0);
const packages = new Set(used.map(([path]) => packageOf(path)).filter(Boolean));
const licences = [...packages].sort().map(licenceOf);
const title = "Charts of headcount's report, bundled by scripts/report_charts. These parts are in it:";
const banner = [title, ...licences].join("\n\n");
const safe = banner.replaceAll("*/", "* /").replaceAll("</", "< /");
writeFileSync(OUT, `/*!\n${safe}\n*/\n${scriptSafe(outputFiles[0].text)}`);
strip(new URL("package-lock.json", HOME));
console.log(`${packages.size} packages, ${readFileSync(OUT).length} bytes`);

function packageOf(path) {
  const inside = path.split("node_modules/").pop().split("/");
  if (!path.includes("node_modules/")) return null;
  return inside[0].startsWith("@") ? inside.slice(0, 2).join("/") : inside[0];
}

function licenceOf(name) {
  const folder = new URL(`node_modules/${name}/`, HOME);
  const { version, license } = JSON.parse(readFileSync(new URL("package.json", folder)));
  const file = readdirSync(folder).find((found) => /^licen[cs]e/i.test(found));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n${readFileSync(new URL(file, folder), "utf8").trim()}`;
}

// A page ends a script at the first closing tag, even inside a string.
function scriptSafe(code) {
  return code.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
}

// Where packages were fetched from is nobody else's business; what they are, "integrity" says.
function strip(lock) {
  const held = JSON.parse(readFileSync(lock));
  for (const found of Object.values(held.packages)) delete found.resolved;
  writeFileSync(lock, JSON.stringify(held, null, 2) + "\n");
}
