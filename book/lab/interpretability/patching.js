const table = () => state.tables[Number(one("site").value)];
const show = (i) => {
  const x = table()[Math.floor(i / width)][i % width];
  text("layer", state.layers[Math.floor(i / width)]);
  text("place", state.words[i % width]);
  text("number", fixed(x, 3));
  bar("bar", Math.min(1, Math.abs(x) / state.most));
};
const draw = () => {
  table().flat().forEach((x, i) => {
    cells[i].textContent = fixed(x, 2);
    const p = 45 * Math.min(1, Math.abs(x) / state.most);
    cells[i].style.setProperty("--p", `${p.toFixed(1)}%`);
    cells[i].dataset.sign = x < 0 ? "less" : "more";
  });
  text("site-name", state.sites[Number(one("site").value)]);
  show(chosen);
};
changed(draw);
