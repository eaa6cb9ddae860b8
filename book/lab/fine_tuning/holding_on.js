const plane = picture("plane");
const [[a, b], [, d]] = state.A, [x, y] = state.target, [[p, q], [, r]] = state.H;
const solve = (m, n, o, u, v) => {
  const det = m * o - n * n;
  return [(o * u - n * v) / det, (m * v - n * u) / det];
};
const few = (s) => {
  let u = 0, v = 0;
  for (let i = 0; i < Math.round(2 ** (s / 10) - 1); i += 1) {
    const e = u - x, f = v - y;
    [u, v] = [u - state.eta * (a * e + b * f), v - state.eta * (b * e + d * f)];
  }
  return [u, v];
};
const pull = (s) => {
  const w = 2 * state.strongest * 10 ** (-s / 25);
  return solve(a + w, b, d + w, a * x + b * y, b * x + d * y);
};
const replay = (s) => {
  const o = 1 - s / 101, n = 1 - o;
  const u = n * (a * x + b * y), v = n * (b * x + d * y);
  return solve(n * a + o * p, n * b + o * q, n * d + o * r, u, v);
};
const draw = () => {
  const way = Number(one("way").value), s = Number(one("freedom").value);
  const [u, v] = s === 0 ? [0, 0] : [few, pull, replay][way](s);
  const e = u - x, f = v - y, all0 = a * x * x + 2 * b * x * y + d * y * y;
  const gained = 1 - (a * e * e + 2 * b * e * f + d * f * f) / all0;
  const lost = (p * u * u + 2 * q * u * v + r * v * v)
    / (p * x * x + 2 * q * x * y + r * y * y);
  const bowl = (color) => (at) => ({kind: "line", at, color, width: 1.2, fade: 0.8});
  const name = (at, words, color) => ({kind: "text", at: [at], text: words, color, dx: 8, dy: -8,
    weight: 600});
  plane.show({...state.frame, marks: [...state.fresh.map(bowl("accent")),
    ...state.old.map(bowl("second")), ...state.ways.map((at, i) => ({kind: "line", at, color: "fg",
      width: 1.8, fade: i === way ? 1 : 0.25})), name([0, 0], "old", "second"),
    name(state.target, "new", "accent"), {kind: "dots", at: [[u, v]], color: "fg", size: 6}]});
  [gained, lost].forEach((share, i) => {
    bar("bar", Math.min(Math.max(share, 0), 1), i);
    text("share", `${fixed(100 * share, 1)} %`, i);
  });
  text("freedom-value", String(s));
};
changed(draw);
reset(draw);
draw();
