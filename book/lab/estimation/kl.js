const { x, logp } = state, p = logp.map(Math.exp), dx = x[1] - x[0], ends = [x[0], x[x.length - 1]];
const densities = picture("densities"), integrands = picture("integrands");
const mean = () => one("mean").valueAsNumber, std = () => one("std").valueAsNumber;
const normal = (m, s) => {
  const g = x.map((u) => -(((u - m) / s) ** 2) / 2), top = Math.max(...g);
  const logZ = top + Math.log(g.reduce((a, u) => a + Math.exp(u - top), 0));
  return g.map((u) => u - logZ);
};
const roundUp = (v) => {
  const k = 10 ** Math.floor(Math.log10(v));
  return k * [1, 2, 5, 10].find((f) => f * k >= v);
};
const density = (u) => {
  const q = normal(mean(), std()), i = Math.round((u - x[0]) / dx);
  return Math.min(state.top, Math.exp(q[Math.min(x.length - 1, Math.max(0, i))]) / dx);
};
const draw = () => {
  const q = normal(mean(), std()), onGrid = (list) => x.map((u, i) => [u, list[i]]);
  const terms = [p.map((v, i) => v * (logp[i] - q[i])),
    q.map((v, i) => Math.exp(v) * (v - logp[i]))];
  const sums = terms.map((list) => list.reduce((a, b) => a + b, 0));
  const heights = terms.map((list) => list.map((v) => v / dx)), all = heights.flat();
  densities.show({x: {range: ends}, y: {range: [0, state.top], label: "density"}, aspect: 0.4,
    marks: [{kind: "area", at: [[ends[0], 0], ...onGrid(p.map((v) => v / dx)), [ends[1], 0]],
      color: "line"}, {kind: "line", at: onGrid(q.map((v) => Math.exp(v) / dx)), color: "fg"}]});
  const low = roundUp(Math.max(0.05, -Math.min(...all)));
  const curve = (k, color) => [
    {kind: "area", at: [[ends[0], 0], ...onGrid(heights[k]), [ends[1], 0]], color, fade: 0.2},
    {kind: "line", at: onGrid(heights[k]), color, width: 2}];
  integrands.show({x: {range: ends, label: "x"}, aspect: 0.45,
    y: {range: [-low, roundUp(Math.max(0.1, ...all))], label: "integrand [nats per unit of x]"},
    marks: [...curve(0, "accent"), ...curve(1, "second")]});
  text("mean-value", fixed(mean(), 1));
  text("std-value", fixed(std(), 1));
  text("forward", fixed(Math.abs(sums[0]), 3));
  text("reverse", fixed(Math.abs(sums[1]), 3));
};
const set = (name, v) => {
  const e = one(name);
  e.value = String(Math.min(Number(e.max), Math.max(Number(e.min), v)));
  draw();
};
densities.handle({label: "mean of q", color: "fg", at: () => [mean(), density(mean())],
  says: () => fixed(mean(), 1), move: ([u]) => set("mean", u)});
densities.handle({label: "mean of q plus its standard deviation", color: "second",
  at: () => [mean() + std(), density(mean() + std())], says: () => fixed(std(), 1),
  move: ([u]) => set("std", u - mean())});
changed(draw);
reset(draw);
draw();
