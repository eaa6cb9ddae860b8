const draw = () => {
  const m = state.models[Number(one("model").value)];
  const names = state.targets[Number(one("targets").value)];
  const r = 2 ** Number(one("rank").value), layers = Number(one("layers").value);
  const bits = state.bits[Number(one("base").value)];
  const used = Math.min(layers, m.layers);
  const maps = names.map((n) => m.maps[n]);
  const low = maps.map(([d, k]) => Math.min(r, d, k) * (d + k)).reduce((a, b) => a + b, 0);
  const all = maps.map(([d, k]) => d * k).reduce((a, b) => a + b, 0);
  const trained = used * low, full = 16 * m.all;
  const small = m.all * bits / 8 + 16 * trained;
  text("rank-value", String(r));
  text("layers-value", String(used));
  text("pairs", String(used * names.length));
  text("trained", trained.toLocaleString("en-US"));
  text("share", `${fixed(100 * trained / m.all, 3)} %`);
  text("fewer", fixed(all / low, 1));
  text("file", bytes(2 * trained));
  [full, small].forEach((x, i) => {
    bar("bar", x / Math.max(full, small), i);
    text("memory", bytes(x), i);
  });
};
changed(draw);
reset(draw);
draw();
