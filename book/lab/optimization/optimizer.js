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
// level lines: where each little triangle of a grid is crossed, with null between the pieces
const levels = (f, [left, right, low, high]) => {
  const n = 64, m = 44, at = (i, j) => [left + (right - left) * i / n, low + (high - low) * j / m];
  const heights = [], lines = [];
  for (let i = 0; i <= n; i++) for (let j = 0; j <= m; j++) heights.push(f(...at(i, j)));
  const least = Math.min(...heights), root = (h) => Math.max(0, h - least) ** 0.25;
  const most = root(Math.max(...heights)), z = (i, j) => root(heights[i * (m + 1) + j]);
  for (let k = 1; k < 11; k++) {
    const level = most * k / 11;
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) {
      [[[i, j], [i + 1, j], [i + 1, j + 1]], [[i, j], [i, j + 1], [i + 1, j + 1]]].forEach((t) => {
        const cut = t.flatMap((a, q) => {
          const b = t[(q + 1) % 3], [u, v] = [z(...a), z(...b)], s = (level - u) / (v - u);
          if ((u < level) === (v < level)) return [];
          return [at(a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1]))];
        });
        if (cut.length === 2) lines.push(...cut, [null, null]);
      });
    }
  }
  return lines;
};
const plane = picture("plane"), race = picture("race"), drawnLevels = {};
const start = [...state.landscapes[Number(one("landscape").value)].start];
const where = () => Number(one("landscape").value), land = () => state.landscapes[where()];
const beta = () => one("beta").valueAsNumber;
const losses = (path) => path.map((p) => places[where()].f(...p) - land().lowest);
const reached = (list) => {  // the step from which on the loss stays below
  let t = list.length;
  while (t > 0 && list[t - 1] < 0.01) t -= 1;
  return t < list.length ? t : -1;
};
const draw = () => {
  const i = where(), place = places[i], now = one("step").valueAsNumber;
  const [left, right, low, high] = land().window, rates = numbers("rate").map((r) => 10 ** r);
  drawnLevels[i] = drawnLevels[i] || levels(place.f, land().window);
  const marks = [{kind: "line", at: drawnLevels[i], color: "soft", width: 0.7, fade: 0.6}];
  const curves = [], found = [];
  rates.forEach((lr, k) => {
    const path = walk(place, start, k, lr, beta(), state.steps), loss = losses(path);
    const [color, dash] = state.looks[k], look = dash ? {color, dash} : {color};
    marks.push({kind: "line", at: path.slice(0, now + 1), width: 2, ...look},
      {kind: "dots", at: [path[Math.min(now, path.length - 1)]], color, size: 4});
    curves.push({kind: "line", at: loss.slice(0, now + 1).map((l, t) => [t, l]), width: 2,
      ...look});
    const first = reached(loss), last = loss[loss.length - 1];
    text("rate-value", scientific(lr), k);
    text("first", first < 0 ? "none" : String(first), k);
    text("last", path.length > state.steps && last < 1e6 ? scientific(last) : "diverged", k);
    if (first >= 0) found.push([first, state.names[k]]);
  });
  plane.show({x: {range: [left, right], label: "x₁"}, y: {range: [low, high], label: "x₂"}, marks});
  race.show({x: {range: [0, state.steps], label: "step"}, aspect: 0.45,
    y: {range: [1e-6, 1e3], log: true, label: "loss above the minimum"},
    marks: [{kind: "line", at: [[0, 0.01], [state.steps, 0.01]], color: "soft", dash: "3 4",
      width: 1},
      ...curves]});
  text("beta-value", fixed(beta(), 2));
  text("step-value", String(now));
  found.sort((a, b) => a[0] - b[0]);
  text("winner", found.length ? `${found[0][1]}, after ${found[0][0]} steps` : "none");
};
const best = () => {
  all("rate").forEach((slider, k) => {
    let least = [Infinity, 0], low = Number(slider.min);
    for (let q = 0; q <= 80; q++) {
      const rate = low + q / 20, loss = losses(walk(places[where()], start, k, 10 ** rate, beta(),
        state.steps));
      const first = reached(loss), last = loss[loss.length - 1];
      const score = loss.length <= state.steps || !(last < 1e6) ? Infinity
        : first < 0 ? 1e4 + last : first + Math.min(0.9, last);
      if (score < least[0]) least = [score, rate];
    }
    slider.value = String(least[1]);
  });
};
const home = () => { [start[0], start[1]] = land().start; };
plane.handle({label: "start", color: "fg", step: 0.05, at: () => start,
  says: () => `x₁ ${fixed(start[0], 2)}, x₂ ${fixed(start[1], 2)}`,
  move: (p) => { [start[0], start[1]] = p; draw(); }});
const stop = player("play", () => {
  if (one("step").valueAsNumber >= state.steps) one("step").value = "0";
}, () => {
  one("step").value = String(one("step").valueAsNumber + 2);
  draw();
  return one("step").valueAsNumber < state.steps;
}, 40);
one("landscape").addEventListener("change", () => { stop(); home(); draw(); });
one("best").addEventListener("click", () => { best(); draw(); });
changed(draw);
reset(() => { stop(); home(); draw(); });
draw();
