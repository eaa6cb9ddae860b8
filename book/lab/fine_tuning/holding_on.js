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
  one("dot").setAttribute("cx", String(state.scale * u));
  one("dot").setAttribute("cy", String(-state.scale * v));
  all("way-line").forEach((l, i) => { l.setAttribute("opacity", i === way ? "1" : "0.25"); });
  [gained, lost].forEach((share, i) => {
    bar("bar", Math.min(Math.max(share, 0), 1), i);
    text("share", `${fixed(100 * share, 1)} %`, i);
  });
  text("freedom-value", String(s));
};
changed(draw);
reset(draw);
draw();
