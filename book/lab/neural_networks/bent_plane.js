const bits = [[0, 0], [0, 1], [1, 0], [1, 1]], low = -0.5, high = 1.5;
const inputs = picture("inputs"), hidden = picture("hidden");
let points = state.start.map((p) => [...p]);
const unit = ([px, py], [x, y]) => {  // active beyond its line, seen from the middle
  const n = [px - 0.5, py - 0.5], size = Math.hypot(...n);
  return size < 1e-6 ? 0 : Math.max(0, 2 * ((x - px) * n[0] + (y - py) * n[1]) / size);
};
const layer = (p) => [unit(points[0], p), unit(points[1], p)];
const output = ([a, b]) => {
  const [u, v] = points[2];
  return a * u + b * v < u * u + v * v - 1e-9;
};
const across = ([x, y], n) => {  // a line through a point, at right angles to n
  const k = 4 / (Math.hypot(...n) || 1);
  return [[x - k * n[1], y + k * n[0]], [x + k * n[1], y - k * n[0]]];
};
const named = (p, [x, y], q = p) => [
  {kind: "dots", at: [q], color: x !== y ? "second" : "accent", size: 9},
  {kind: "text", at: [q], text: String(x ^ y), color: "bg", anchor: "middle", dy: 4, weight: 700,
    halo: 0}];
const draw = () => {
  const rows = 48, size = (high - low) / rows, strips = [], axis = (label, a, b) =>
    ({range: [a, b], label});
  for (let j = 0; j < rows; j++) {
    for (let i = 0, from = null; i <= rows; i++) {
      const at = (k) => low + size * k, on = i < rows && output(layer([at(i + 0.5), at(j + 0.5)]));
      if (on && from === null) from = i;
      if (!on && from !== null) { strips.push([at(from), at(j), at(i), at(j + 1)]); from = null; }
    }
  }
  const folds = [0, 1].map((k) => ({kind: "line", width: 2, color: ["third", "fourth"][k],
    at: across(points[k], [points[k][0] - 0.5, points[k][1] - 0.5])}));
  inputs.show({x: axis("x₁", low, high), y: axis("x₂", low, high), equal: true, aspect: 1,
    tallest: 300, marks: [{kind: "boxes", at: strips, color: "second", fade: 0.2}, ...folds,
      ...bits.flatMap((p) => named(p, p))]});
  const images = [];
  for (let k = 0; k <= 8; k++) {
    const c = low + k / 4, fine = [...Array(41).keys()].map((i) => low + i / 20);
    [fine.map((t) => layer([c, t])), fine.map((t) => layer([t, c]))].forEach((at) =>
      images.push({kind: "line", at, color: "soft", width: 1, fade: 0.6}));
  }
  const o = points[2], far = across(o, o), back = far.map(([a, b]) => [a - 9 * o[0], b - 9 * o[1]]);
  hidden.show({x: axis("h₁", -0.2, 1.4), y: axis("h₂", -0.2, 1.4), equal: true, aspect: 1,
    tallest: 300, marks: [{kind: "area", at: [...far, back[1], back[0]], color: "second",
      fade: 0.2},
      ...images, {kind: "line", at: far, color: "fg", width: 2},
      ...bits.flatMap((p) => named(p, p, layer(p)))]});
  const yes = bits.map((p) => output(layer(p)));
  bits.forEach((p, i) => {
    text("hidden-value", layer(p).map((h) => fixed(h, 2)).join(", "), i);
    text("output", yes[i] ? "1" : "0", i);
  });
  text("right", String(bits.filter(([x, y], i) => yes[i] === (x !== y)).length));
};
const handle = (plane, k, label, color) => plane.handle({label, color, step: 0.05,
  at: () => points[k], move: (p) => { points[k] = p; draw(); }});
handle(inputs, 0, "line of the first hidden unit", "third");
handle(inputs, 1, "line of the second hidden unit", "fourth");
handle(hidden, 2, "line of the output", "fg");
one("solve").addEventListener("click", () => { points = state.solution.map((p) => [...p]); draw(); });
reset(() => { points = state.start.map((p) => [...p]); draw(); });
draw();
