const fs = [(x) => x * x, Math.sin, Math.exp];
const put = (e, list) => Object.entries(list).forEach(([k, v]) => e.setAttribute(k, v));
const draw = () => {
  const i = Number(one("curve").value), c = state.curves[i], f = fs[i];
  const h = one("h").valueAsNumber;
  const [x0, x1, y0, y1] = c.view;
  const sx = (x) => state.width * (x - x0) / (x1 - x0);
  const sy = (y) => state.height * (y1 - y) / (y1 - y0);
  const line = (name, m) => put(one(name), {x1: 0, y1: sy(f(c.x) + m * (x0 - c.x)),
    x2: state.width, y2: sy(f(c.x) + m * (x1 - c.x))});
  const points = Array.from({length: 81}, (_, k) => x0 + (x1 - x0) * k / 80);
  one("curve-line").setAttribute("points", points.map((x) => `${sx(x)},${sy(f(x))}`).join(" "));
  const slope = (f(c.x + h) - f(c.x)) / h;
  line("secant", slope);
  line("tangent", c.slope);
  put(one("base"), {cx: sx(c.x), cy: sy(f(c.x))});
  put(one("dot"), {cx: sx(c.x + h), cy: sy(f(c.x + h))});
  text("h-value", fixed(h, 2));
  text("slope", fixed(slope, 3));
  text("limit", fixed(c.slope, 3));
  text("gap", fixed(slope - c.slope, 3));
};
changed(draw);
one("curve").addEventListener("change", draw);
reset(draw);
draw();
