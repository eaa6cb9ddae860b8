const dials = picture("dials"), curve = picture("curve"), far = state.far;
const circle = (x) => [...Array(49).keys()].map((i) =>
  [x + Math.cos(i * Math.PI / 24), Math.sin(i * Math.PI / 24)]);
const draw = () => {
  const both = one("both").valueAsNumber, w = state.frequencies[Number(one("pairs").value)];
  const m = one("m").valueAsNumber + both, n = one("n").valueAsNumber + both;
  const score = (d) => w.reduce((s, theta) => s + Math.cos(d * theta), 0) / w.length;
  const shown = w.length > 4 ? [0, 1, 2, 3].map((k) => w[k * w.length / 4]) : w;
  const marks = shown.flatMap((theta, k) => {
    const x = 2.6 * k, hand = (t, color) => ({kind: "arrow", color, width: 3,
      at: [[x, 0], [x + Math.cos(t * theta), Math.sin(t * theta)]]});
    const below = (words, dy) => ({kind: "text", at: [[x, -1]], text: words, anchor: "middle", dy});
    return [{kind: "line", at: circle(x), color: "line", width: 2}, hand(n, "second"),
      hand(m, "accent"), below(`θ = ${scientific(theta)}`, 18),
      below(`λ = ${scientific(2 * Math.PI / theta, 2)}`, 34)];
  });
  dials.show({x: {range: [-1.25, 2.6 * (shown.length - 1) + 1.25], bare: true}, marks,
    y: {range: [-2.4, 1.15], bare: true}, equal: true, aspect: 0.5, tallest: 190});
  const steps = [...Array(2 * far + 1).keys()].map((i) => i / 2);
  const d = Math.abs(m - n), each = w.length > 1 && w.length <= 4 ? w.map((theta) => ({
    kind: "line", at: steps.map((s) => [s, Math.cos(s * theta)]), color: "soft", width: 1,
      fade: 0.6})) : [];
  curve.show({x: {range: [0, far], label: "distance [tokens]"}, aspect: 0.45,
    y: {range: [-1.1, 1.1], label: "score"}, marks: [...each,
      {kind: "line", at: steps.map((s) => [s, score(s)]), color: "accent"},
      {kind: "line", at: [[d, -2], [d, 2]], color: "fg", width: 1, dash: "3 3"},
      {kind: "dots", at: [[d, score(d)]], color: "fg", size: 6}]});
  ["m", "n", "both"].forEach((x) => text(x + "-value", one(x).value));
  text("at-m", String(m));
  text("at-n", String(n));
  text("distance", String(m - n).replace("-", "−"));
  text("score", fixed(score(m - n), 3));
};
changed(draw);
one("pairs").addEventListener("change", draw);
reset(draw);
draw();
