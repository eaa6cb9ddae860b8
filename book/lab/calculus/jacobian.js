const f = ([a, b, c]) => [a * a + b * c, a * b - c], plane = picture("plane");
const draw = () => {
  const d = ["dx1", "dx2", "dx3"].map((n) => one(n).valueAsNumber);
  const before = f(state.x), after = f(state.x.map((x, j) => x + d[j]));
  const guess = state.J.map((row) => row.reduce((s, g, j) => s + g * d[j], 0));
  const moved = after.map((y, i) => y - before[i]);
  d.forEach((v, j) => text(`dx${j + 1}-value`, fixed(v, 2)));
  guess.forEach((g, i) => {
    text("guess", fixed(g, 3), i);
    text("moved", fixed(moved[i], 3), i);
    text("miss", fixed(moved[i] - g, 3), i);
  });
  plane.show({x: {range: [-3, 3], label: "Δf₁"}, y: {range: [-2.2, 2.2], label: "Δf₂"},
    equal: true, aspect: 0.8, tallest: 320, marks: [
      {kind: "arrow", at: [[0, 0], moved], color: "accent", width: 3},
      {kind: "arrow", at: [[0, 0], guess], color: "second", width: 2, dash: "6 4"}]});
};
changed(draw);
reset(draw);
draw();
