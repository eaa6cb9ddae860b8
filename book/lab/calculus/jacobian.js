const f = ([a, b, c]) => [a * a + b * c, a * b - c];
const put = (e, list) => Object.entries(list).forEach(([k, v]) => e.setAttribute(k, v));
const draw = () => {
  const d = ["dx1", "dx2", "dx3"].map((n) => one(n).valueAsNumber);
  const before = f(state.x), after = f(state.x.map((x, j) => x + d[j]));
  const guess = state.J.map((row) => row.reduce((s, g, j) => s + g * d[j], 0));
  const moved = after.map((y, i) => y - before[i]);
  d.forEach((v, j) => text(`dx${j + 1}-value`, fixed(v, 2)));
  guess.forEach((g, i) => {
    text("guess", fixed(g, 3), i);
    text("moved", fixed(moved[i], 3), i);
    text("miss", fixed(moved[i] - g, 3), i);
  });
  const end = (v) => ({x2: 160 + state.scale * v[0], y2: 100 - state.scale * v[1]});
  put(one("true"), end(moved));
  put(one("tangent"), end(guess));
};
changed(draw);
reset(draw);
draw();
