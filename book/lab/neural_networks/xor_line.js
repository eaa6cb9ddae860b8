const bits = [[0, 0], [0, 1], [1, 0], [1, 1]], low = -0.7, high = 1.7, plane = picture("plane");
const names = ["w1", "w2", "b"], weights = () => names.map((n) => one(n).valueAsNumber);
const clip = (w, b) => {  // the part of the square where w x + b > 0
  const box = [[low, low], [high, low], [high, high], [low, high]], kept = [];
  const f = ([x, y]) => w[0] * x + w[1] * y + b;
  box.forEach((p, i) => {
    const q = box[(i + 1) % 4], s = f(p), t = f(q);
    if (s > 0) kept.push(p);
    if (s * t < 0) kept.push(p.map((x, k) => x + (q[k] - x) * s / (s - t)));
  });
  return kept;
};
const foot = () => {  // the point of the line next to the middle of the four inputs
  const [u, v, b] = weights(), square = u * u + v * v || 1e-9, s = (u / 2 + v / 2 + b) / square;
  return [0.5 - s * u, 0.5 - s * v];
};
const draw = () => {
  const [w1, w2, b] = weights();
  names.forEach((n, i) => text(n + "-value", fixed([w1, w2, b][i], 1)));
  const [p, q] = foot(), long = 4 / (Math.hypot(w1, w2) || 1);
  const yes = bits.map(([x, y]) => w1 * x + w2 * y + b > 1e-9);
  const axis = (label) => ({range: [low, high], label, ticks: [[0, "0"], [1, "1"]]});
  const edge = [[p - long * w2, q + long * w1], [p + long * w2, q - long * w1]];
  plane.show({x: axis("x₁"), y: axis("x₂"), equal: true, aspect: 1, tallest: 300, marks: [
    {kind: "area", at: clip([w1, w2], b), color: "second", fade: 0.2},
    ...(w1 || w2 ? [{kind: "line", at: edge, color: "fg", width: 2}] : []),
    ...bits.flatMap(([x, y]) => [
      {kind: "dots", at: [[x, y]], color: x !== y ? "second" : "accent", size: 9},
      {kind: "text", at: [[x, y]], text: String(x ^ y), color: "bg", anchor: "middle", dy: 4,
        weight: 700, halo: 0}])]});
  bits.forEach((_, i) => text("output", yes[i] ? "1" : "0", i));
  text("right", String(bits.filter(([x, y], i) => yes[i] === (x !== y)).length));
};
plane.handle({label: "line", color: "fg", step: 0.02, at: foot,
  move: ([x, y]) => {
    const [u, v] = weights(), from = foot(), n = [x - 0.5, y - 0.5], size = Math.hypot(...n);
    if (size < 0.02) return;
    const side = u * (from[0] - 0.5) + v * (from[1] - 0.5) < 0 ? -1 : 1;
    const k = side * Math.max(1, Math.hypot(u, v)) / size, w = n.map((c) => k * c);
    [w[0], w[1], -w[0] * x - w[1] * y].forEach((c, i) => {
      one(names[i]).value = Math.max(-3, Math.min(3, c)).toFixed(1);
    });
    draw();
  }});
changed(draw);
reset(draw);
draw();
