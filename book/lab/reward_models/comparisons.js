const pick = (name) => Number(one(name).value);
const x = (gap) => 210 + 170 * Math.max(-6, Math.min(6, gap)) / 6;
const y = (p) => 150 - 130 * p;
const set = (name, attributes) => Object.entries(attributes).forEach(
  ([key, at]) => one(name).setAttribute(key, String(at)));
const draw = () => {
  const gap = pick("gap"), N = pick("number"), p = 1 / (1 + Math.exp(-gap));
  const won = state.draws.slice(0, N).filter((u) => u < p).length, lost = N - won;
  const some = won > 0 && lost > 0;
  const guess = some ? Math.log(won / lost) : 0;
  const error = some ? Math.sqrt(1 / won + 1 / lost) : 0;
  text("gap-value", fixed(gap, 1));
  text("number-value", String(N));
  set("true", {cx: x(gap), cy: y(p)});
  set("range", {x1: x(guess - 1.96 * error), x2: x(guess + 1.96 * error),
    opacity: some ? 1 : 0});
  set("guess", {cx: x(guess), opacity: some ? 1 : 0});
  text("p", fixed(p, 3));
  text("won", String(won));
  text("lost", String(lost));
  text("found", some ? `${fixed(guess, 2)} ± ${fixed(1.96 * error, 2)}` : "no finite number");
};
changed(draw);
reset(draw);
draw();
