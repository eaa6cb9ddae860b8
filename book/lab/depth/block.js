const power = (x) => {
  if (x > -3 && x < 4) return Number((10 ** x).toPrecision(2)).toString();
  return `10^${fixed(x, 0)}`;
};
const draw = () => {
  const kind = state.stacks[Number(one("sums").value)][Number(one("norms").value)];
  const l = one("block").valueAsNumber;
  state.series.forEach((name) => {
    const log = state.runs[kind][name];
    const y = (v) => -2 * Math.min(state.highest, Math.max(state.lowest, v));
    one(name + "-line").setAttribute("points", log.map((v, i) => `${i},${y(v)}`).join(" "));
    text(name, power(log[l]));
  });
  one("at").setAttribute("x1", l);
  one("at").setAttribute("x2", l);
  text("block-value", String(l));
  text("kind", kind);
};
changed(draw);
reset(draw);
draw();
