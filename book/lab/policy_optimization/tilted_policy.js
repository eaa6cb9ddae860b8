const plane = picture("plane");
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
  plane.show({x: {range: [0, state.most], label: "divergence from the reference [nats]"},
    y: {range: [state.low, state.low + state.span], label: "mean reward"}, aspect: 0.55, marks: [
      {kind: "line", at: state.optima, color: "accent"},
      {kind: "dots", at: [[kl, mean]], color: "second", size: 7}]});
};
changed(draw);
reset(draw);
draw();
