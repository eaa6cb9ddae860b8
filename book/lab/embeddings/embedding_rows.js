const rows = all("row"), counts = all("times");
const draw = () => {
  const size = one("size").valueAsNumber, step = one("step").valueAsNumber;
  const tied = Number(one("use").value) === 1, rule = Number(one("optimizer").value);
  const batch = state.tokens.slice((step - 1) * size, step * size);
  const before = new Set(state.tokens.slice(0, (step - 1) * size));
  const times = state.words.map((_, i) => batch.filter((t) => t === i).length);
  const looked = times.map((n) => n > 0);
  const gradient = looked.map((x) => x || tied);
  const coasts = rule === 1 || rule === 2;
  const moves = gradient.map((x, i) => x || rule === 4 || (coasts && before.has(i)));
  const count = (list) => list.filter(Boolean).length;
  rows.forEach((e, i) => {
    e.className = "cell" + (looked[i] ? " used" : "") + (moves[i] ? " moves" : "");
    counts[i].textContent = (times[i] > 1 ? ` ×${times[i]}` : "") + (moves[i] ? " →" : "");
  });
  text("size-value", fixed(size, 0));
  text("step-value", fixed(step, 0));
  text("batch", batch.map((t) => state.words[t]).join(" "));
  text("looked", fixed(count(looked), 0));
  text("gradient", fixed(count(gradient), 0));
  text("moves", fixed(count(moves), 0));
};
changed(draw);
["optimizer", "use"].forEach((n) => one(n).addEventListener("change", draw));
draw();
