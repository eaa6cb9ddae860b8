const cells = all("cell"), width = state.words.length;
let chosen = state.chosen;
const choose = (i) => {
  cells[chosen].setAttribute("aria-pressed", "false");
  cells[chosen].tabIndex = -1;
  chosen = i;
  cells[i].setAttribute("aria-pressed", "true");
  cells[i].tabIndex = 0;
  show(i);
};
cells.forEach((cell, i) => {
  ["click", "focus", "mouseenter"].forEach((e) => cell.addEventListener(e, () => choose(i)));
  cell.addEventListener("keydown", (e) => {
    const move = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]};
    if (!(e.key in move)) return;
    e.preventDefault();
    const column = i % width + move[e.key][0], row = Math.floor(i / width) + move[e.key][1];
    if (column < 0 || column >= width || row < 0 || row * width >= cells.length) return;
    cells[row * width + column].focus();
  });
});
choose(chosen);
