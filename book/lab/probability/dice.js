const sums = picture("sums");
const draw = () => {
  const n = one("n").valueAsNumber;
  let p = [1];
  for (let i = 0; i < n; i += 1) {
    const q = Array(p.length + 5).fill(0);
    p.forEach((x, s) => { for (let f = 0; f < 6; f += 1) q[s + f] += x / 6; });
    p = q;
  }
  const top = Math.max(...p), sd = Math.sqrt(n * 35 / 12);
  const bell = (s) => Math.exp(-(((s - 2.5 * n) / sd) ** 2) / 2) / (sd * Math.sqrt(2 * Math.PI));
  const curve = Array.from({length: 121}, (_, i) => (p.length - 1) * i / 120);
  sums.show({x: {range: [n - 0.5, 6 * n + 0.5], label: "sum of the eyes"}, aspect: 0.45,
    y: {range: [0, 1.15 * Math.max(top, bell(2.5 * n))], label: "probability"}, marks: [
      {kind: "boxes", at: p.map((h, s) => [n + s - 0.5, 0, n + s + 0.5, h]), color: "accent",
        fade: 0.45, gap: n > 20 ? 0 : 1},
      {kind: "line", at: curve.map((s) => [n + s, bell(s)]), color: "second"}]});
  const gap = Math.max(...p.map((h, s) => Math.abs(h - bell(s)))) / top;
  text("n-value", String(n));
  text("mean", fixed(3.5 * n, 1));
  text("sd", fixed(sd, 2));
  text("gap", fixed(100 * gap, 1));
};
changed(draw);
reset(draw);
draw();
