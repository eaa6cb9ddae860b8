const dots = all("word"), lines = all("line");
const show = (i) => {
  const near = state.neighbors[i];
  dots.forEach((g, j) => {
    g.setAttribute("class", j === i ? "word at" : near.includes(j) ? "word on" : "word");
    g.setAttribute("tabindex", j === i ? "0" : "-1");
  });
  near.forEach((j, n) => {
    const ends = [...state.places[i], ...state.places[j]];
    ["x1", "y1", "x2", "y2"].forEach((k, m) => lines[n].setAttribute(k, ends[m]));
    text("neighbor", state.words[j], n);
    text("cosine", fixed(state.cosines[i][n], 2), n);
    bar("bar", Math.max(0, state.cosines[i][n]), n);
  });
  text("center", state.words[i]);
  one("choice").value = String(i);
};
dots.forEach((g, i) => {
  ["click", "focus", "mouseenter"].forEach((e) => g.addEventListener(e, () => show(i)));
  g.addEventListener("keydown", (e) => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
    if (step) { e.preventDefault(); dots[(i + step + dots.length) % dots.length].focus(); }
  });
});
one("choice").addEventListener("change", () => show(Number(one("choice").value)));
