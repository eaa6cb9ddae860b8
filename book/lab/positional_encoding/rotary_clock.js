const draw = () => {
  const both = one("both").valueAsNumber, w = one("frequency").valueAsNumber;
  const m = one("m").valueAsNumber + both, n = one("n").valueAsNumber + both;
  const hand = (name, angle) => {
    one(name).setAttribute("x2", (Math.cos(angle) * state.radius).toFixed(1));
    one(name).setAttribute("y2", (-Math.sin(angle) * state.radius).toFixed(1));
  };
  const a = state.query + m * w, b = state.key + n * w;
  hand("query", a);
  hand("key", b);
  ["m", "n", "both"].forEach((x) => text(x + "-value", one(x).value));
  text("frequency-value", fixed(w, 2));
  text("at-m", m);
  text("at-n", n);
  text("distance", String(m - n).replace("-", "−"));
  text("score", fixed(Math.cos(a - b), 3));
};
changed(draw);
reset(draw);
draw();
