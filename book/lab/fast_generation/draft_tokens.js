let n = 0;
const draw = () => {
  all("piece").forEach((e, i) => { e.hidden = i >= n; });
  const done = state.steps.slice(0, n);
  text("readings", String(new Set(done.map((s) => s.round)).size));
  text("tokens", String(n));
  text("told", n ? state.steps[n - 1].told : state.first);
  one("back").disabled = n === 0;
  one("next").disabled = n === state.steps.length;
};
const move = (by) => {
  n = Math.min(Math.max(n + by, 0), state.steps.length);
  draw();
};
one("next").addEventListener("click", () => move(1));
one("back").addEventListener("click", () => move(-1));
one("reset").addEventListener("click", () => move(-n));
draw();
