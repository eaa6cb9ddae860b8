const corners = [[0, 0], [1, 0], [1, 1], [0, 1]];
const entry = (name) => one(name).valueAsNumber;
const put = (e, list) => Object.entries(list).forEach(([k, v]) => e.setAttribute(k, v));
const draw = () => {
  const [a, b, c, d] = ["a", "b", "c", "d"].map(entry);
  ["a", "b", "c", "d"].forEach((n) => text(n + "-value", fixed(entry(n), 1)));
  const map = ([x, y]) => [a * x + b * y, -(c * x + d * y)];
  const det = a * d - b * c;
  one("image").setAttribute("points", corners.map((p) => map(p).join()).join(" "));
  one("image").setAttribute("class", det < 0 ? "image flipped" : "image");
  all("grid").forEach((e, i) => {
    const k = (i >> 1) - 3;
    const ends = i % 2 ? [[-9, k], [9, k]] : [[k, -9], [k, 9]];
    const [[x1, y1], [x2, y2]] = ends.map(map);
    put(e, {x1, y1, x2, y2});
  });
  const half = (a + d) / 2;
  const inside = (a - d) ** 2 / 4 + b * c;
  const flat = inside > -1e-9 ? Math.max(inside, 0) : inside;
  const roots = flat < 0 ? [] : [half + Math.sqrt(flat), half - Math.sqrt(flat)];
  all("line").forEach((e, i) => {
    const l = roots[i];
    let v = l === undefined ? [0, 0] : [b, l - a];
    if (l !== undefined && Math.hypot(...v) < 1e-6) v = [l - d, c];
    if (l !== undefined && Math.hypot(...v) < 1e-6) v = i ? [0, 1] : [1, 0];
    const s = 9 / (Math.hypot(...v) || 1);
    put(e, {x1: -s * v[0], y1: s * v[1], x2: s * v[0], y2: -s * v[1]});
  });
  text("det", fixed(det, 2));
  text("eigen", roots.length ? roots.map((l) => fixed(l, 2)).join(" and ")
    : `${fixed(half, 2)} ± ${fixed(Math.sqrt(-inside), 2)} i: no direction is kept`);
};
one("shape").addEventListener("change", () => {
  state.shapes[Number(one("shape").value)].forEach((x, i) => { one("abcd"[i]).value = x; });
  draw();
});
changed(draw);
draw();
