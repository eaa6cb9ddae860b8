const step = one("step"), block = one("block");
const draw = () => {
  const size = state.blocks[Number(block.value)], n = state.scores.length;
  step.max = String(Math.ceil(n / size));
  const seen = Math.min(Number(step.value) * size, n);
  let mu = -Infinity, sum = 0, o = 0, shrink = 1;
  for (let i = 0; i < seen; i += size) {
    const part = state.scores.slice(i, Math.min(i + size, seen));
    const top = Math.max(mu, ...part);
    shrink = mu === -Infinity ? 0 : Math.exp(mu - top);
    sum *= shrink;
    o *= shrink;
    part.forEach((s, j) => {
      const e = Math.exp(s - top);
      sum += e;
      o += e * state.values[i + j];
    });
    mu = top;
  }
  state.scores.forEach((s, j) => {
    const p = j < seen ? Math.exp(s - mu) / sum : 0;
    bar("bar", p, j);
    text("weight", j < seen ? fixed(p, 3) : "not read", j);
  });
  text("step-value", step.value);
  text("max", seen ? fixed(mu, 2) : "none");
  text("shrink", seen ? fixed(shrink, 4) : "none");
  text("sum", fixed(sum, 4));
  text("mix", fixed(o, 4));
  text("y", seen ? fixed(o / sum, 4) : "none");
};
changed(draw);
reset(draw);
draw();
