const words = ["", "thousand ", "million ", "billion ", "trillion ", "quadrillion "];
const amount = (x) => {
  const group = Math.min(words.length - 1, Math.max(0, Math.floor(Math.log10(x) / 3 + 1e-9)));
  const v = x / 10 ** (3 * group);
  return `${fixed(v, v < 10 ? 2 : v < 100 ? 1 : 0)} ${words[group]}`;
};
const draw = () => {
  const law = state.laws[Number(one("law").value)], C = 10 ** Number(one("budget").value);
  const ratio = 2 ** Number(one("ratio").value);
  const loss = (n) => law.E + law.A * n ** -law.alpha + law.B * (C / 6 / n) ** -law.beta;
  const both = law.alpha + law.beta;
  const g = (law.alpha * law.A / (law.beta * law.B)) ** (1 / both);
  const best = g * (C / 6) ** (law.beta / both), taken = best * ratio;
  const [[x0, x1], [y0, y1]] = [state.x, state.y];
  const x = (n) => 30 + 280 * (Math.log10(n) - x0) / (x1 - x0);
  const y = (l) => 180 - 170 * (l - y0) / (y1 - y0);
  const line = [];
  for (let i = 0; i <= 120; i++) {
    const n = 10 ** (x0 + (x1 - x0) * i / 120), l = loss(n);
    if (l <= y1) line.push(`${x(n).toFixed(1)},${y(l).toFixed(1)}`);
  }
  one("line").setAttribute("points", line.join(" "));
  for (const [name, n] of [["best", best], ["dot", taken]]) {
    one(name).setAttribute("cx", x(n).toFixed(1));
    one(name).setAttribute("cy", Math.max(10, y(loss(n))).toFixed(1));
  }
  const power = fixed(Number(one("budget").value), 1);
  text("budget-value", power);
  text("power", power);
  text("ratio-value", ratio < 1 ? `1/${1 / ratio}` : String(ratio));
  text("n", amount(taken));
  text("d", amount(C / 6 / taken));
  text("per", amount(C / 6 / taken ** 2));
  text("loss", fixed(loss(taken), 3));
  text("missed", fixed(loss(taken) - loss(best), 3));
};
changed(draw);
reset(draw);
draw();
