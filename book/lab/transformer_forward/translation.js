const draw = () => {
  const e = state.examples[Number(one("example").value)], step = one("step");
  step.max = String(e.output.length);
  const t = Math.min(step.valueAsNumber, e.output.length) - 1;
  text("step-value", String(t + 1));
  text("written", e.output.slice(0, t).join(" ") || "(nothing)");
  text("next", e.output[t]);
  for (let s = 0; s < state.longest; s++) {
    const there = s < e.source.length;
    one("source-row", s).style.display = there ? "" : "none";
    if (!there) continue;
    text("source", e.source[s], s);
    bar("read", e.weights[t][s], s);
    text("share", fixed(e.weights[t][s], 2), s);
  }
  e.candidates[t].forEach(([word, p], i) => {
    text("candidate", word, i);
    bar("chance", p, i);
    text("p", fixed(p, 3), i);
  });
};
const go = (by) => {
  const step = one("step"), to = step.valueAsNumber + by;
  step.value = String(Math.min(Number(step.max), Math.max(1, to)));
  draw();
};
[["back", -1], ["next-step", 1]].forEach(([name, by]) =>
  all(name).forEach((b) => b.addEventListener("click", () => go(by))));
changed(draw);
reset(draw);
draw();
