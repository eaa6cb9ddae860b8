const draw = () => {
  const step = state.steps[Number(one("step").value) - 1];
  text("step-value", one("step").value);
  text("title", step.title);
  text("chapter", step.chapter);
  text("text", step.text);
};
changed(draw);
reset(draw);
one("next").addEventListener("click", () => {
  const now = Number(one("step").value);
  one("step").value = String(now >= state.steps.length ? 1 : now + 1);
  draw();
});
draw();
