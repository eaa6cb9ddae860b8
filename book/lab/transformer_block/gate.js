const plane = picture("plane"), radians = (n) => one(n).valueAsNumber * Math.PI / 180;
const unit = (x, y) => {
  const [a, b] = ["a", "b"].map(radians);
  const u = x * Math.cos(a) + y * Math.sin(a), v = x * Math.cos(b) + y * Math.sin(b);
  const which = Number(one("which").value);
  return [u / (1 + Math.exp(-u)) * v, Math.max(u, 0) * v, Math.max(u, 0)][which];
};
const tip = (n) => [1.8 * Math.cos(radians(n)), 1.8 * Math.sin(radians(n))];
const draw = () => {
  const at = [], color = [], fade = [];
  state.cells.forEach((y) => state.cells.forEach((x) => {
    const z = unit(x, y);
    at.push([x - 0.125, y - 0.125, x + 0.125, y + 0.125]);
    color.push(z < 0 ? "second" : "accent");
    fade.push(Math.min(1, Math.abs(z) / 4).toFixed(3));
  }));
  const axis = (label) => ({range: [-2.125, 2.125], label});
  plane.show({x: axis("x₁"), y: axis("x₂"), equal: true, aspect: 1, tallest: 340, marks: [
    {kind: "boxes", at, color, fade},
    {kind: "arrow", at: [[0, 0], tip("b")], color: "fg", width: 2, dash: "5 4"},
    {kind: "arrow", at: [[0, 0], tip("a")], color: "fg", width: 2.5}]});
  ["a", "b"].forEach((n) => text(n + "-value", fixed(one(n).valueAsNumber, 0)));
  [[1, 1], [1, -1], [-1, 1], [-1, -1]].forEach(([x, y], i) => {
    text("corner", fixed(unit(x, y), 2), i);
  });
};
[["a", "direction of the gate", "fg"], ["b", "direction of the value", "soft"]].forEach(
  ([n, label, color]) => {
    const set = (degrees) => {
      one(n).value = String(Math.max(0, Math.min(180, 5 * Math.round(degrees / 5))));
      draw();
    };
    plane.handle({label, color, step: 0.01, at: () => tip(n), says: () => `${one(n).value} degrees`,
      move: ([x, y]) => set(Math.atan2(Math.max(0, y), x) * 180 / Math.PI),
      turn: (d) => set(one(n).valueAsNumber + 5 * d)});
  });
changed(draw);
reset(draw);
draw();
