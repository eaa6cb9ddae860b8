const n = (e) => state.examples[e].words.length;
const cells = all("cell"), rows = all("row"), heads = all("head"), width = state.width;
let causal = state.causal, at = [state.query, state.key];
const weights = (e) => state.examples[e].scores.map((row, t) => {
  const seen = row.map((s, j) => causal && j > t ? -Infinity : s);
  const top = Math.max(...seen), p = seen.map((s) => Math.exp(s - top));
  const sum = p.reduce((a, b) => a + b);
  return p.map((x) => x / sum);
});
const draw = () => {
  const e = Number(one("example").value), size = n(e), A = weights(e);
  at = at.map((i) => Math.min(i, size - 1));
  for (let t = 0; t < width; t++) {
    text("row", t < size ? state.examples[e].words[t] : "", t);
    text("head", t < size ? state.examples[e].words[t] : "", t);
    for (let s = 0; s < width; s++) {
      const cell = cells[t * width + s], there = t < size && s < size;
      cell.style.visibility = there ? "visible" : "hidden";
      if (!there) continue;
      cell.style.setProperty("--share", `${Math.round(100 * A[t][s])}%`);
      cell.setAttribute("data-hidden", String(causal && s > t));
      const here = t === at[0] && s === at[1];
      cell.setAttribute("tabindex", here ? "0" : "-1");
      cell.setAttribute("aria-selected", String(here));
      const from = state.examples[e].words[t], to = state.examples[e].words[s];
      cell.setAttribute("aria-label", `${from} gives ${to} ${fixed(A[t][s], 2)}`);
    }
  }
  const [t, s] = at, words = state.examples[e].words;
  text("query", words[t]);
  text("key", words[s]);
  text("weight", causal && s > t ? "0 (hidden)" : fixed(A[t][s], 3));
  text("sum", fixed(A[t].reduce((a, b) => a + b), 2));
};
const go = (t, s, focus) => {
  const size = n(Number(one("example").value));
  if (t < 0 || s < 0 || t >= size || s >= size) return;
  at = [t, s];
  draw();
  if (focus) cells[t * width + s].focus();
};
cells.forEach((cell, i) => {
  const t = Math.floor(i / width), s = i % width;
  ["click", "mouseenter", "focus"].forEach((e) =>
    cell.addEventListener(e, () => go(t, s, false)));
  cell.addEventListener("keydown", (e) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
      ArrowRight: [0, 1] }[e.key];
    if (!step) return;
    e.preventDefault();
    go(at[0] + step[0], at[1] + step[1], true);
  });
});
all("mask").forEach((b) => b.addEventListener("click", () => {
  causal = !causal;
  b.setAttribute("aria-pressed", String(causal));
  draw();
}));
changed(draw);
draw();
