const draw = () => {
  const m = one("mean").valueAsNumber, s = one("std").valueAsNumber, { x, p } = state;
  const g = x.map((u) => -(((u - m) / s) ** 2) / 2), top = Math.max(...g);
  const logZ = top + Math.log(g.reduce((a, u) => a + Math.exp(u - top), 0));
  const q = g.map((u) => u - logZ);
  let forward = 0, reverse = 0, line = "";
  x.forEach((u, i) => {
    forward += p[i] * (Math.log(p[i]) - q[i]);
    reverse += Math.exp(q[i]) * (q[i] - Math.log(p[i]));
    const px = state.width * i / (x.length - 1);
    const py = state.height * (1 - Math.min(Math.exp(q[i]) / state.top, 1));
    line += (i ? "L" : "M") + px.toFixed(2) + " " + py.toFixed(2);
  });
  one("curve").setAttribute("d", line);
  text("mean-value", fixed(m, 1));
  text("std-value", fixed(s, 1));
  text("forward", fixed(Math.abs(forward), 3));
  text("reverse", fixed(Math.abs(reverse), 3));
};
changed(draw);
reset(draw);
draw();
