// Numbers as the report writes them: three significant digits, decimal units, thousands set apart.

const SUPERSCRIPTS = {"-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹"};
const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB"];
const METRICS = {accuracy: ["accuracy", true], log_loss: ["log-loss", false], auc: ["AUC", false], rmse: ["RMSE", false],
  r2: ["R²", false]};

export function formatCount(value) {
  return Math.round(value).toLocaleString("en-US");
}

export function formatNumber(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return formatCount(value);
  const [mantissa, power] = value.toExponential(2).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) {
    const rounded = Number(`${mantissa}e${power}`);
    return exponent < 3 ? rounded.toFixed(Math.max(0, 2 - exponent)) : formatCount(rounded);
  }
  return `${mantissa} × 10${[...String(exponent)].map((digit) => SUPERSCRIPTS[digit]).join("")}`;
}

export function formatSeconds(value) {
  return value > 0 && value < 0.1 ? `${formatNumber(1000 * value)} ms` : `${formatNumber(value)} s`;
}

export function formatBytes(value) {
  let shown = value;
  let place = 0;
  while (Number(shown.toPrecision(3)) >= 1000 && place < BYTE_UNITS.length - 1) {
    shown /= 1000;
    place += 1;
  }
  return `${formatNumber(shown)} ${BYTE_UNITS[place]}`;
}

export function formatMetric(name, value) {
  if (METRICS[name]?.[1]) return `${(100 * value).toFixed(1)}%`;
  const size = Math.abs(value);
  if (size >= 1000 && size < 1e9) return formatCount(value);
  return size === 0 || (size >= 0.001 && size < 1000) ? value.toFixed(4) : formatNumber(value);
}

export function nameMetric(name) {
  return METRICS[name]?.[0] ?? name;
}

export function formatTime(text) {
  const found = /T(\d\d:\d\d:\d\d)/.exec(text);
  return found ? found[1] : "";
}

export function formatWhen(text) {
  const found = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)/.exec(text);
  return found ? `${found[1]} ${found[2]} UTC` : "";
}
