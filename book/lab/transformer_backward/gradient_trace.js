const draw = () => {
  const label = Number(one("label").value);
  let at = 0;
  state.sizes[label].forEach((row, stage) => {
    const total = row.reduce((a, x) => a + x, 0);
    row.forEach((x) => {
      const cell = one("cell", at), share = total > 0 ? x / total : 0;
      cell.textContent = x === 0 ? "·" : fixed(100 * share, 0);
      cell.style.setProperty("--share", `${Math.round(100 * share)}%`);
      at += 1;
    });
    text("size", scientific(Math.hypot(...row)), stage);
  });
  const last = state.sizes[label][state.sizes[label].length - 1];
  text("word", state.labels[label]);
  text("most", state.source[last.indexOf(Math.max(...last))]);
  text("zeros", String(state.labels.length - 1 - label));
};
changed(draw);
draw();
