const tail = (z) => {
  const x = Math.abs(z) / Math.SQRT2, t = 1 / (1 + x / 2);
  const c = [1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
    1.48851587, -0.82215223, 0.17087277];
  const sum = -1.26551223 + t * c.reduceRight((all, a) => a + t * all, 0);
  const upper = t * Math.exp(sum - x * x) / 2;
  return z < 0 ? 1 - upper : upper;
};
const bell = (middle, sd) => Array.from({ length: 121 }, (_, i) => {
  const x = state.left + (state.right - state.left) * i / 120;
  const y = Math.exp(-0.5 * ((x - middle) / sd) ** 2);
  return `${i ? "L" : "M"}${(state.wide * i / 120).toFixed(1)} ` +
    (state.high * (1 - 0.95 * y)).toFixed(1);
}).join("");
const count = (x) => x >= 1000 ? Math.round(x).toLocaleString("en-US") : x >= 10 ? fixed(x, 0)
  : x >= 0.01 ? fixed(x, 2) : x === 0 ? "0" : x.toExponential(0).replace("-", "−");
const draw = () => {
  const D = 2 ** Number(one("width").value), m = Math.round(10 ** Number(one("count").value));
  const k = Math.min(Number(one("active").value), m), at = Number(one("threshold").value);
  const noise = Math.sqrt(k / D), others = Math.sqrt((k - 1) / D);
  const off = tail(at / noise), miss = k > 1 ? tail((1 - at) / others) : 0;
  text("width-value", String(D));
  text("count-value", m.toLocaleString("en-US"));
  text("active-value", String(k));
  text("threshold-value", fixed(at, 2));
  text("noise", fixed(noise, 3));
  text("missed", count(k * miss));
  text("false", count((m - k) * off));
  text("all", fixed(Math.exp((m - k) * Math.log1p(-off) + k * Math.log1p(-miss)), 2));
  text("rule", fixed(D / (8 * Math.log(m)), 0));
  one("absent").setAttribute("d", bell(0, Math.max(noise, 0.004)));
  one("present").setAttribute("d", bell(1, Math.max(others, 0.004)));
  const x = state.wide * (at - state.left) / (state.right - state.left);
  ["x1", "x2"].forEach((name) => one("line").setAttribute(name, x.toFixed(1)));
};
changed(draw);
reset(draw);
draw();
