const draw = () => {
  const n = one("n").valueAsNumber;
  let p = [1];
  for (let i = 0; i < n; i += 1) {
    const q = Array(p.length + 5).fill(0);
    p.forEach((x, s) => { for (let f = 0; f < 6; f += 1) q[s + f] += x / 6; });
    p = q;
  }
  const top = Math.max(...p), sd = Math.sqrt(n * 35 / 12);
  const x = (s) => state.width * (s + 0.5) / p.length;
  const y = (h) => state.height * (1 - 0.95 * h / top);
  let path = "M0 " + state.height, curve = "";
  p.forEach((h, s) => {
    const left = (state.width * s / p.length).toFixed(2);
    const right = (state.width * (s + 1) / p.length).toFixed(2);
    path += `L${left} ${y(h).toFixed(2)}L${right} ${y(h).toFixed(2)}`;
  });
  for (let i = 0; i <= 120; i += 1) {
    const s = (p.length - 1) * i / 120, z = (s - 2.5 * n) / sd;
    const h = Math.exp(-z * z / 2) / (sd * Math.sqrt(2 * Math.PI));
    curve += (i ? "L" : "M") + x(s).toFixed(2) + " " + y(h).toFixed(2);
  }
  one("steps").setAttribute("d", path + `L${state.width} ${state.height}Z`);
  one("bell").setAttribute("d", curve);
  const gap = Math.max(...p.map((h, s) => Math.abs(
    h - Math.exp(-(((s - 2.5 * n) / sd) ** 2) / 2) / (sd * Math.sqrt(2 * Math.PI))))) / top;
  text("n-value", String(n));
  text("mean", fixed(3.5 * n, 1));
  text("sd", fixed(sd, 2));
  text("gap", fixed(100 * gap, 1));
};
changed(draw);
reset(draw);
draw();
