const W = state.W, U = state.U, T = state.T;
const draw = () => {
  const x = numbers("x"), gain = one("gain").valueAsNumber;
  text("gain-value", fixed(gain, 2));
  let h = [0, 0];
  for (let t = 0; t < T; t++) {
    h = [0, 1].map((i) =>
      Math.tanh(gain * (W[i][0] * h[0] + W[i][1] * h[1]) + U[i] * x[t]));
    text("h1", fixed(h[0], 3), t);
    text("h2", fixed(h[1], 3), t);
    bar("bar1", (1 + h[0]) / 2, t);
    bar("bar2", (1 + h[1]) / 2, t);
  }
  text("last", `(${fixed(h[0], 3)}, ${fixed(h[1], 3)})`);
};
changed(draw);
reset(draw);
draw();
