const fs = [(x) => x * x, Math.sin, Math.exp], graph = picture("graph");
const curve = () => state.curves[Number(one("curve").value)];
const f = (x) => fs[Number(one("curve").value)](x), h = () => one("h").valueAsNumber;
const draw = () => {
  const c = curve(), [x0, x1, y0, y1] = c.view;
  const line = (m) => [x0, x1].map((x) => [x, f(c.x) + m * (x - c.x)]);
  const points = Array.from({length: 81}, (_, k) => x0 + (x1 - x0) * k / 80);
  const slope = (f(c.x + h()) - f(c.x)) / h();
  graph.show({x: {range: [x0, x1], label: "x"}, y: {range: [y0, y1], label: "f(x)"}, marks: [
    {kind: "line", at: points.map((x) => [x, f(x)]), color: "fg"},
    {kind: "line", at: line(c.slope), color: "second", dash: "6 4", width: 2},
    {kind: "line", at: line(slope), color: "accent", width: 2},
    {kind: "dots", at: [[c.x, f(c.x)]], color: "fg"},
    {kind: "dots", at: [[c.x + h(), f(c.x + h())]], color: "accent"}]});
  text("h-value", fixed(h(), 2));
  text("slope", fixed(slope, 3));
  text("limit", fixed(c.slope, 3));
  text("gap", fixed(slope - c.slope, 3));
};
graph.handle({label: "second point, h", color: "accent", step: 0.01,
  at: () => [curve().x + h(), f(curve().x + h())], says: () => `h = ${fixed(h(), 2)}`,
  move: ([x]) => {
    one("h").value = Math.max(0.01, Math.min(2, x - curve().x)).toFixed(2);
    draw();
  }});
changed(draw);
one("curve").addEventListener("change", draw);
reset(draw);
draw();
