const corners = [[0, 0], [1, 0], [1, 1], [0, 1]], edge = 4.2, plane = picture("plane");
const entry = (name) => one(name).valueAsNumber;
const draw = () => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map(entry);
  const map = ([x, y]) => [a * x + b * y, c * x + d * y];
  const det = a * d - b * c, color = det < 0 ? "second" : "accent", image = corners.map(map);
  const half = (a + d) / 2;
  const inside = (a - d) ** 2 / 4 + b * c;
  const flat = inside > -1e-9 ? Math.max(inside, 0) : inside;
  const roots = flat < 0 ? [] : [half + Math.sqrt(flat), half - Math.sqrt(flat)];
  const grid = [-3, -2, -1, 0, 1, 2, 3].flatMap((k) => [[[k, -9], [k, 9]], [[-9, k], [9, k]]]);
  const marks = grid.map((ends) => ({kind: "line", at: ends.map(map), color, width: 1,
    fade: 0.35}));
  marks.push({kind: "area", at: corners, color: "soft", fade: 0.35},
    {kind: "area", at: image, color, fade: 0.3},
    {kind: "line", at: [...image, image[0]], color, width: 2});
  roots.forEach((l, i) => {
    let v = [b, l - a];
    if (Math.hypot(...v) < 1e-6) v = [l - d, c];
    if (Math.hypot(...v) < 1e-6) v = i ? [0, 1] : [1, 0];
    const s = 9 / Math.hypot(...v);
    marks.push({kind: "line", at: [v.map((x) => -s * x), v.map((x) => s * x)], color: "fourth",
      dash: "7 5", width: 2});
  });
  marks.push({kind: "arrow", at: [[0, 0], [a, c]], color: "fg", width: 2.5},
    {kind: "arrow", at: [[0, 0], [b, d]], color: "third", width: 2.5});
  const axis = (label) => ({range: [-edge, edge], label});
  plane.show({x: axis("x₁"), y: axis("x₂"), equal: true, tallest: 400, aspect: 1, marks});
  text("det", fixed(det, 2));
  text("eigen", roots.length ? roots.map((l) => fixed(l, 2)).join(" and ")
    : `${fixed(half, 2)} ± ${fixed(Math.sqrt(-inside), 2)} i: no direction is kept`);
};
[["a", "c", "first", "fg"], ["b", "d", "second", "third"]].forEach(([up, down, which, color]) => {
  plane.handle({label: `${which} column`, color, step: 0.1, at: () => [entry(up), entry(down)],
    says: () => `${fixed(entry(up), 1)}, ${fixed(entry(down), 1)}`,
    move: (p) => {
      [up, down].forEach((n, i) => { one(n).value = Math.max(-3, Math.min(3, p[i])).toFixed(1); });
      draw();
    }});
});
one("shape").addEventListener("change", () => {
  state.shapes[Number(one("shape").value)].forEach((x, i) => { one("abcd"[i]).value = String(x); });
  draw();
});
changed(draw);
draw();
