const sig = (x) => 1 / (1 + Math.exp(-x));
const push = [
  (m) => sig(-m), (m) => (1 - state.expected) * sig(-m) - state.expected * sig(m),
  (m, b) => 2 * (0.5 - m) / (b * b), (m) => Number(m < 1),
];
const softmax = (z) => {
  const top = Math.max(...z), e = z.map((x) => Math.exp(x - top));
  const sum = e.reduce((a, b) => a + b, 0);
  return e.map((x) => x / sum);
};
const draw = () => {
  const beta = Number(one("beta").value), steps = Number(one("steps").value);
  const f = push[Number(one("loss").value)], p = state.wins[Number(one("wins").value)];
  const phi = state.features[Number(one("parameters").value)];
  const start = state.reference.map(Math.log), z = [...start];
  const margin = () => beta * (z[0] - start[0] - z[1] + start[1]);
  const pull = (m) => p * f(m, beta) - (1 - p) * f(-m, beta);
  for (let i = 0; i < steps; i++) {
    const s = state.step * beta * pull(margin());
    const theta = phi[0].map((x, k) => s * (x - phi[1][k]));
    z.forEach((_, y) => { z[y] += phi[y].reduce((a, x, k) => a + x * theta[k], 0); });
  }
  const q = softmax(z), m = margin();
  const ratio = q.map((x, y) => Math.log(x / state.reference[y]));
  q.forEach((x, y) => {
    bar("bar", x, y);
    text("p", fixed(x, 3), y);
    text("ratio", fixed(ratio[y], 2), y);
  });
  text("beta-value", fixed(beta, 1));
  text("steps-value", String(steps));
  text("margin", fixed(m, 2));
  text("says", fixed(sig(m), 2));
  text("push", fixed(pull(m), 2));
  text("kl", fixed(q.reduce((a, x, y) => a + x * ratio[y], 0), 2));
};
changed(draw);
reset(draw);
draw();
