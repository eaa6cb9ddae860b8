const bits = [[0, 0], [0, 1], [1, 0], [1, 1]];
const clip = (w, b) => {  // the part of the square where w x + b > 0
  const box = [[-0.7, -0.7], [1.7, -0.7], [1.7, 1.7], [-0.7, 1.7]], kept = [];
  const f = ([x, y]) => w[0] * x + w[1] * y + b;
  box.forEach((p, i) => {
    const q = box[(i + 1) % 4], s = f(p), t = f(q);
    if (s > 0) kept.push(p);
    if (s * t < 0) kept.push(p.map((x, k) => x + (q[k] - x) * s / (s - t)));
  });
  return kept.map(([x, y]) => `${x},${-y}`).join(" ");
};
const draw = () => {
  const [w1, w2, b] = ["w1", "w2", "b"].map((n) => one(n).valueAsNumber);
  ["w1", "w2", "b"].forEach((n) => text(n + "-value", fixed(one(n).valueAsNumber, 1)));
  one("side").setAttribute("points", clip([w1, w2], b));
  const yes = bits.map(([x, y]) => w1 * x + w2 * y + b > 1e-9);
  bits.forEach(([x, y], i) => text("output", yes[i] ? "1" : "0", i));
  text("right", String(bits.filter(([x, y], i) => yes[i] === (x !== y)).length));
};
changed(draw);
reset(draw);
draw();
