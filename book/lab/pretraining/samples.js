const draw = () => {
  const i = one("point").valueAsNumber;
  text("point-value", i);
  text("tokens", state.tokens[i]);
  text("bits", state.bits[i]);
  text("sample", state.samples[i]);
};
changed(draw);
draw();
