const draw = () => {
  const k = Number(one("scale").value), shares = [0, 0, 0, 0];
  state.shares.forEach((share, i) => {
    const e = state.first + i + k;
    shares[e < state.ends[0] ? 0 : e < state.ends[1] ? 1 : e < state.ends[2] ? 2 : 3] += share;
  });
  shares.forEach((share, i) => {
    bar("bar", share, i);
    text("share", `${fixed(100 * share, 2)} %`, i);
  });
  text("scale-value", String(k));
  text("fate", shares[3] > 0 ? "at least one overflows: the step is skipped"
    : shares[0] > 0.01 ? "more than one in a hundred is lost" : "nearly all arrive");
};
changed(draw);
reset(draw);
draw();
