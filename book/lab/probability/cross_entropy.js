const draw = () => {
  const p = one("p").valueAsNumber, loss = -Math.log(p);
  text("p-value", fixed(p, 2));
  text("loss", fixed(loss, 2));
  text("bits", fixed(loss / Math.LN2, 2));
  text("choices", fixed(1 / p, 2));
  text("slope", fixed(p - 1, 2));
  bar("bar", Math.min(loss / state.most, 1));
};
changed(draw);
reset(draw);
draw();
