const bent = (x, y) => [-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)];
const places = [
  {g: (x, y) => [x, 25 * y], f: (x, y) => (x * x + 25 * y * y) / 2},
  {g: (x, y) => [13 * x - 12 * y, 13 * y - 12 * x],
   f: (x, y) => ((x + y) ** 2 / 2 + 25 * (y - x) ** 2 / 2) / 2},
  {g: bent, f: (x, y) => (1 - x) ** 2 + 100 * (y - x * x) ** 2},
  {g: (x, y) => [x, y ** 3 - y], f: (x, y) => x * x / 2 - y * y / 2 + y ** 4 / 4}];
const walk = (place, start, method, lr, beta, steps) => {
  let p = [...start], m = [0, 0], v = [0, 0];
  const path = [[...p]];
  for (let t = 1; t <= steps; t++) {
    const g = place.g(...p);
    if (!g.every(Number.isFinite)) break;
    for (const i of [0, 1]) {
      if (method === 0) p[i] -= lr * g[i];
      if (method === 1) { m[i] = beta * m[i] + g[i]; p[i] -= lr * m[i]; }
      if (method === 2) { m[i] = beta * m[i] + g[i]; p[i] -= lr * (g[i] + beta * m[i]); }
      if (method === 3) {
        v[i] = 0.9 * v[i] + 0.1 * g[i] * g[i];
        p[i] -= lr * g[i] / (Math.sqrt(v[i]) + 1e-8);
      }
      if (method === 4) {
        m[i] = beta * m[i] + (1 - beta) * g[i];
        v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
        p[i] -= lr * (m[i] / (1 - beta ** t)) / (Math.sqrt(v[i] / (1 - 0.999 ** t)) + 1e-8);
      }
    }
    path.push([...p]);
  }
  return path;
};
const draw = () => {
  const where = Number(one("landscape").value), method = Number(one("method").value);
  const lr = 10 ** one("rate").valueAsNumber, beta = one("beta").valueAsNumber;
  const land = state.landscapes[where], [left, right, low, high] = land.window;
  const sx = state.width / (right - left), sy = state.height / (high - low);
  const at = ([x, y]) => [(x - left) * sx, state.height - (y - low) * sy];
  const near = (a) => Math.max(-9999, Math.min(9999, a)).toFixed(1);
  const path = walk(places[where], land.start, method, lr, beta, state.steps);
  const shown = path.map((p) => at(p).map(near).join(","));
  one("levels").setAttribute("d", land.levels);
  one("path").setAttribute("points", shown.join(" "));
  one("start").setAttribute("transform", `translate(${shown[0]})`);
  one("end").setAttribute("transform", `translate(${shown[shown.length - 1]})`);
  const losses = path.map((p) => places[where].f(...p) - land.lowest);
  const first = losses.findIndex((loss) => loss < 0.01);
  const last = losses[losses.length - 1];
  text("rate-value", lr.toPrecision(2));
  text("beta-value", fixed(beta, 2));
  text("first", first < 0 ? "never" : `after ${first} steps`);
  text("last", last < 1e6 ? last.toExponential(1).replace("-", "−") : "diverged");
};
changed(draw);
reset(draw);
["landscape", "method"].forEach((n) => one(n).addEventListener("change", draw));
draw();
