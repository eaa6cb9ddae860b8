const draw = () => {
  const degrees = one("angle").valueAsNumber;
  const t = degrees * Math.PI / 180;
  const u = [Math.cos(t), Math.sin(t)];
  const along = state.points.map(([x, y]) => x * u[0] + y * u[1]);
  const n = along.length;
  const variance = along.reduce((s, x) => s + x * x, 0) / (n - 1);
  const ends = {x1: -9 * u[0], y1: 9 * u[1], x2: 9 * u[0], y2: -9 * u[1]};
  Object.entries(ends).forEach(([k, v]) => one("line").setAttribute(k, v));
  all("foot").forEach((e, i) => {
    e.setAttribute("cx", along[i] * u[0]);
    e.setAttribute("cy", -along[i] * u[1]);
  });
  text("angle-value", fixed(degrees, 0));
  text("variance", fixed(variance, 2));
  text("share", fixed(100 * variance / state.total, 1));
};
changed(draw);
draw();
