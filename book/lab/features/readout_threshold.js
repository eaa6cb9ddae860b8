const tail = (z) => {
  const x = Math.abs(z) / Math.SQRT2, t = 1 / (1 + x / 2);
  const c = [1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398,
    1.48851587, -0.82215223, 0.17087277];
  const sum = -1.26551223 + t * c.reduceRight((all, a) => a + t * all, 0);
  const upper = t * Math.exp(sum - x * x) / 2;
  return z < 0 ? 1 - upper : upper;
};
const plane = picture("bells");
const bell = (middle, sd) => Array.from({ length: 121 }, (_, i) => {
  const x = state.left + (state.right - state.left) * i / 120;
  return [x, Math.exp(-0.5 * ((x - middle) / sd) ** 2)];
});
const count = (x) => x >= 10 ? grouped(x) : x >= 0.01 || x === 0 ? fixed(x, 2) : scientific(x, 0);
const draw = () => {
  const D = 2 ** Number(one("width").value), m = Math.round(10 ** Number(one("count").value));
  const k = Math.min(Number(one("active").value), m), at = Number(one("threshold").value);
  const noise = Math.sqrt(k / D), others = Math.sqrt((k - 1) / D);
  const off = tail(at / noise), miss = k > 1 ? tail((1 - at) / others) : 0;
  text("width-value", grouped(D));
  text("count-value", grouped(m));
  text("active-value", String(k));
  text("threshold-value", fixed(at, 2));
  text("noise", fixed(noise, 3));
  text("missed", count(k * miss));
  text("false", count((m - k) * off));
  text("all", fixed(Math.exp((m - k) * Math.log1p(-off) + k * Math.log1p(-miss)), 2));
  text("rule", fixed(D / (8 * Math.log(m)), 0));
  plane.show({x: {range: [state.left, state.right], label: "what is heard of a feature"},
    y: {range: [0, 1.1], label: "density (each bell with height 1)"}, aspect: 0.45, marks: [
      {kind: "line", at: bell(0, Math.max(noise, 0.004)), color: "second"},
      {kind: "line", at: bell(1, Math.max(others, 0.004)), color: "accent"},
      {kind: "line", at: [[at, 0], [at, 1.1]], color: "fg", width: 1.5, dash: "4 3"}]});
};
plane.handle({label: "threshold", color: "fg", step: 0.02,
  at: () => [Number(one("threshold").value), 0.55],
  says: () => fixed(Number(one("threshold").value), 2),
  move: ([x]) => {
    one("threshold").value = Math.max(0.1, Math.min(0.9, x)).toFixed(2);
    draw();
  }});
changed(draw);
reset(draw);
draw();
