const draw = () => {
  const z = numbers("score"), t = one("temperature").valueAsNumber;
  const top = Math.max(...z), e = z.map((s) => Math.exp((s - top) / t));
  const sum = e.reduce((a, b) => a + b), p = e.map((x) => x / sum);
  p.forEach((x, i) => { bar("bar", x, i); text("weight", fixed(x, 3), i); });
  const h = -p.reduce((a, x) => a + (x > 0 ? x * Math.log(x) : 0), 0);
  text("temperature-value", fixed(t, 2));
  text("entropy", fixed(h, 3));
  text("count", fixed(Math.exp(h), 2));
};
changed(draw);
reset(draw);
draw();
