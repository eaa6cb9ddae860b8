const grouped = (x, digits = 0) => fixed(x, digits).replace(/^[^.]+/, (whole) =>
  whole.replace(/\B(?=(\d{3})+$)/g, ","));
const raised = (n) => String(n).replace(/[-−]/g, "⁻")
  .replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
const scientific = (x, digits = 1) => {
  const size = Math.abs(x);
  if (x === 0) return "0";
  if (size >= 1e-4 && size < 1e5) {
    return grouped(Number(x.toPrecision(digits + 1)),
      Math.max(0, digits - Math.floor(Math.log10(size) + 1e-9)));
  }
  const [m, e] = x.toExponential(digits).split("e");
  return `${m.replace("-", "−")} × 10${raised(Number(e))}`;
};
const bytes = (x) => {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  let k = 0;
  while (x >= 999.5 && k < units.length - 1) { x /= 1000; k += 1; }
  return `${fixed(x, k === 0 || x >= 99.95 ? 0 : x >= 9.995 ? 1 : 2)} ${units[k]}`;
};
