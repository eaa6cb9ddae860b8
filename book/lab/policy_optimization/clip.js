const plane = picture("plane"), ratio = () => Number(one("rho").value) / 100;
const gainAt = (r) => {
  const A = Number(one("sign").value) ? -1 : 1, eps = Number(one("clip").value) / 100;
  return Math.min(r * A, Math.min(1 + eps, Math.max(1 - eps, r)) * A);
};
const draw = () => {
  const rho = ratio(), A = Number(one("sign").value) ? -1 : 1;
  const eps = Number(one("clip").value) / 100, gain = gainAt(rho);
  const flat = A > 0 ? rho > 1 + eps : rho < 1 - eps;
  const ends = A > 0 ? [-0.1, 2.1] : [-2.1, 0.1];
  const grid = Array.from({ length: 101 }, (_, i) => i / 50);
  const rule = (r, dash) => ({kind: "line", at: ends.map((g) => [r, g]), color: "soft", width: 1,
    dash});
  plane.show({x: {range: [0, 2], label: "ratio ρ"}, y: {range: ends, label: "gain"}, aspect: 0.6,
    marks: [rule(1, ""), rule(1 - eps, "4 4"), rule(1 + eps, "4 4"),
      {kind: "line", at: [[0, 0], [2, 2 * A]], color: "second", width: 1.5, dash: "6 4"},
      {kind: "line", at: grid.map((r) => [r, gainAt(r)]), color: "accent", width: 3},
      {kind: "dots", at: [[rho, gain]], color: "fg", size: 6}]});
  text("rho-value", fixed(rho, 2));
  text("clip-value", fixed(eps, 2));
  text("plain", fixed(rho * A, 2));
  text("gain", fixed(gain, 2));
  text("pull", flat ? "none, the sample is cut" : A > 0 ? "up" : "down");
};
plane.handle({label: "ratio", color: "fg", step: 0.01, at: () => [ratio(), gainAt(ratio())],
  says: () => fixed(ratio(), 2),
  move: ([r]) => { one("rho").value = String(Math.round(100 * r)); draw(); }});
changed(draw);
reset(draw);
draw();
