const draw = () => {
  const base = 10 ** one("base").valueAsNumber, t = one("position").valueAsNumber;
  const D = state.features, bands = D / 2;
  const w = [...Array(bands).keys()].map((i) => base ** (-2 * i / D));
  for (let s = 0; s < state.positions; s++) for (let j = 0; j < D; j++) {
    const angle = s * w[Math.floor(j / 2)], x = j % 2 ? Math.cos(angle) : Math.sin(angle);
    const cell = one("cell", s * D + j);
    cell.setAttribute("class", x < 0 ? "minus" : "plus");
    cell.setAttribute("fill-opacity", Math.abs(x).toFixed(2));
  }
  one("row").setAttribute("y", String(t * state.height));
  w.forEach((x, i) => {
    text("sine", fixed(Math.sin(t * x), 2), i);
    text("cosine", fixed(Math.cos(t * x), 2), i);
    text("wave", (2 * Math.PI / x).toPrecision(3).replace(/e\+(\d+)/, "·10^$1"), i);
  });
  const near = w.reduce((a, x) => a + 2 - 2 * Math.cos(x), 0);
  text("base-value", Math.round(base));
  text("position-value", t);
  text("step", fixed(Math.sqrt(near), 2));
};
changed(draw);
reset(draw);
draw();
