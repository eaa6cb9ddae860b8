const draw = () => {
  const u = state.updates[Number(one("update").value)];
  const i = Number(one("rank").value);
  text("rank-value", String(u.ranks[i]));
  bar("energy-bar", u.energy[i]);
  bar("gain-bar", Math.min(1, Math.max(0, u.kept[i])));
  bar("chance-bar", Math.min(1, Math.max(0, u.random[i])));
  const percent = (x) => `${fixed(100 * x, 0)} %`;
  text("energy", percent(u.energy[i]));
  text("gain", percent(u.kept[i]));
  text("chance", percent(u.random[i]));
  text("loss", fixed(u.loss[i], 3));
  text("numbers", percent(u.numbers[i]));
};
changed(draw);
reset(draw);
draw();
