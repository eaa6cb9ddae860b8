const unit = (x, y) => {
  const [a, b] = ["a", "b"].map((n) => one(n).valueAsNumber * Math.PI / 180);
  const u = x * Math.cos(a) + y * Math.sin(a), v = x * Math.cos(b) + y * Math.sin(b);
  const which = Number(one("which").value);
  return [u / (1 + Math.exp(-u)) * v, Math.max(u, 0) * v, Math.max(u, 0)][which];
};
const draw = () => {
  ["a", "b"].forEach((n) => {
    text(n + "-value", fixed(one(n).valueAsNumber, 0));
    const angle = one(n).valueAsNumber * Math.PI / 180;
    one(n + "-line").setAttribute("x2", (1.8 * Math.cos(angle)).toFixed(3));
    one(n + "-line").setAttribute("y2", (-1.8 * Math.sin(angle)).toFixed(3));
  });
  const shown = all("cell");
  state.cells.forEach((y, j) => state.cells.forEach((x, i) => {
    const z = unit(x, y), cell = shown[j * state.cells.length + i];
    cell.setAttribute("class", z < 0 ? "minus" : "plus");
    cell.setAttribute("opacity", Math.min(1, Math.abs(z) / 4).toFixed(3));
  }));
  [[1, 1], [1, -1], [-1, 1], [-1, -1]].forEach(([x, y], i) => {
    text("corner", fixed(unit(x, y), 2), i);
  });
};
changed(draw);
reset(draw);
draw();
