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
const plane = picture("plane");
let now = [1, 1, 1];
const draw = () => {
  const law = state.laws[Number(one("law").value)], C = 10 ** Number(one("budget").value);
  const ratio = 2 ** Number(one("ratio").value);
  const [loss, best] = "N_c" in law ? joint(law, C) : additive(law, C);
  const taken = best * ratio;
  const [[x0, x1], [y0, y1]] = [state.x, state.y], points = [];
  for (let i = 0; i <= 120; i++) {
    const n = 10 ** (x0 + (x1 - x0) * i / 120);
    points.push([n, loss(n)]);
  }
  now = [taken, loss(taken), best];
  plane.show({x: {range: [10 ** x0, 10 ** x1], log: true, label: "parameters N"}, aspect: 0.6,
    y: {range: [y0, y1], label: "loss [nats]"}, marks: [{kind: "line", at: points, color: "accent"},
      {kind: "dots", at: [[best, loss(best)]], color: "third", size: 9, fade: 0.5},
      {kind: "dots", at: [[taken, loss(taken)]], color: "second"}]});
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
const take = (r) => {
  one("ratio").value = String(Math.max(-4, Math.min(4, Math.round(r))));
  draw();
};
plane.handle({label: "size that is taken", color: "second", step: [1, 1e-9], at: () => now,
  says: () => `${scientific(now[0])} parameters`,
  move: ([n]) => take(Math.log2(n / now[2])), turn: (d) => take(Number(one("ratio").value) + d)});
changed(draw);
reset(draw);
draw();
