const found = (s, r, b) => 1 - Math.pow(1 - Math.pow(s, r), b);
const at = (s, p) => [state.left + s * state.width, state.top + (1 - p) * state.height]
  .map((x) => x.toFixed(1));
const draw = () => {
  const r = one("rows").valueAsNumber, b = one("bands").valueAsNumber;
  const s = one("similarity").valueAsNumber, p = found(s, r, b), cross = at(s, p);
  const points = Array.from({ length: 101 }, (_, i) => at(i / 100, found(i / 100, r, b)));
  one("curve").setAttribute("points", points.map((p) => p.join(",")).join(" "));
  one("dot").setAttribute("cx", cross[0]);
  one("dot").setAttribute("cy", cross[1]);
  text("rows-value", r);
  text("bands-value", b);
  text("similarity-value", fixed(s, 2));
  text("hashes", r * b);
  text("threshold", fixed(Math.pow(1 / b, 1 / r), 2));
  text("chance", fixed(100 * p, 1));
};
changed(draw);
reset(draw);
draw();
