const words = ["", "thousand ", "million ", "billion ", "trillion ", "quadrillion "];
const amount = (x) => {
  const group = Math.min(words.length - 1, Math.max(0, Math.floor(Math.log10(x) / 3 + 1e-9)));
  const v = x / 10 ** (3 * group);
  return `${fixed(v, v < 10 ? 2 : v < 100 ? 1 : 0)} ${words[group]}`;
};
const additive = (law, C) => {
  const both = law.alpha + law.beta;
  const g = (law.alpha * law.A / (law.beta * law.B)) ** (1 / both);
  const loss = (n) => law.E + law.A * n ** -law.alpha + law.B * (C / 6 / n) ** -law.beta;
  return [loss, g * (C / 6) ** (law.beta / both)];
};
const joint = (law, C) => {
  const q = law.alpha_n / law.alpha_d;
  const loss = (n) => ((law.N_c / n) ** q + law.D_c / (C / 6 / n)) ** law.alpha_d;
  const logN = Math.log(q * C / (6 * law.D_c)) + q * Math.log(law.N_c);
  return [loss, Math.exp(logN / (1 + q))];
};
const draw = () => {
  const law = state.laws[Number(one("law").value)], C = 10 ** Number(one("budget").value);
  const ratio = 2 ** Number(one("ratio").value);
  const [loss, best] = "N_c" in law ? joint(law, C) : additive(law, C);
  const taken = best * ratio;
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
