const draw = () => {
  const beta = state.prices[Number(one("beta").value)];
  const best = Math.max(...state.rewards.map((r, i) => r / beta + state.logp[i]));
  const w = state.logp.map((l, i) => Math.exp(l + state.rewards[i] / beta - best));
  const total = w.reduce((a, b) => a + b, 0), p = w.map((v) => v / total);
  const mean = p.reduce((a, q, i) => a + q * state.rewards[i], 0);
  const kl = p.reduce((a, q, i) => a + (q > 0 ? q * (Math.log(q) - state.logp[i]) : 0), 0);
  text("beta-value", fixed(beta, 2));
  p.forEach((q, i) => { bar("bar", q, i); text("p", fixed(100 * q, 1), i); });
  text("reward", fixed(mean, 2));
  text("kl", fixed(Math.abs(kl), 2));
  text("value", fixed(mean - beta * kl, 2));
  const [x, y] = [kl / state.most * 300 + 10, 190 - 180 * (mean - state.low) / state.span];
  one("dot").setAttribute("cx", x.toFixed(1));
  one("dot").setAttribute("cy", y.toFixed(1));
};
changed(draw);
reset(draw);
draw();
