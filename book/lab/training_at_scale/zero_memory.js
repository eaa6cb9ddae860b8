const draw = () => {
  const N = state.models[Number(one("model").value)], n = 2 ** Number(one("devices").value);
  const stage = Number(one("stage").value), share = Math.ceil(N / n);
  const parts = [2 * (stage > 2 ? share : N), 2 * (stage > 1 ? share : N),
    12 * (stage > 0 ? share : N)];
  const total = parts.reduce((a, b) => a + b);
  parts.forEach((x, i) => {
    bar("bar", x / (16 * N), i);
    text("part", bytes(x), i);
  });
  const sent = (stage > 2 ? 3 : 2) * 2 * N * (n - 1) / n;
  text("devices-value", String(n));
  text("total", bytes(total));
  text("sent", bytes(sent));
  text("fits", total < 80e9 ? "fits into 80 GB, if activations fit into the rest"
    : "does not fit into 80 GB");
};
changed(draw);
reset(draw);
draw();
