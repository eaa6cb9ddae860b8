const short = (x) => {
  if (x < 0.001) return "≈ 0";
  let k = 0;
  while (x >= 999.5 && k < state.suffixes.length - 1) { x /= 1000; k += 1; }
  return fixed(x, x >= 99.95 ? 0 : x >= 9.995 ? 1 : x >= 0.9995 ? 2 : 3) + state.suffixes[k];
};
const draw = () => {
  const power = Number(one("compute").value), count = 2 ** Number(one("devices").value);
  const ratio = state.ratios[Number(one("ratio").value)], C = 10 ** power;
  const [peak, watts] = state.machines[Number(one("device").value)];
  const N = Math.sqrt(C / (6 * ratio)), D = ratio * N, a = state.assumed;
  [0, 1, 2].forEach((i) => {
    const hours = C / 3600 / peak / a.utilization[2 - i];
    const draws = watts * a.around[i] * a.overhead[i], energy = hours * draws / 1000;
    [hours, hours / count / 24, hours * a.price[i], energy / 1000, draws * count / 1000,
      energy * a.grams[i] / 1e6, 100 * D / a.stock[2 - i]].forEach((x, row) => {
      text("cell", short(x), 3 * row + i);
    });
  });
  text("compute-value", String(power));
  text("devices-value", String(count));
  text("n", short(N));
  text("d", short(D));
};
changed(draw);
reset(draw);
draw();
