const words = all("word");
const show = (i) => {
  words.forEach((w, j) => w.setAttribute("aria-pressed", String(i === j)));
  state.weights[i].forEach((x, j) => {
    bar("bar", x / state.most, j);
    text("weight", fixed(x, 3), j);
  });
  const best = state.weights[i].indexOf(Math.max(...state.weights[i]));
  text("query", state.words[i]);
  text("best", state.words[best]);
};
words.forEach((w, i) => {
  ["click", "focus", "mouseenter"].forEach((e) => w.addEventListener(e, () => show(i)));
  w.addEventListener("keydown", (e) => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
    if (step) words[(i + step + words.length) % words.length].focus();
  });
});
