const shapes = [
  (s) => 1, (s) => 1 - s, (s) => (1 + Math.cos(Math.PI * s)) / 2,
  (s) => 0.01 ** s, (s, t, w) => Math.sqrt(Math.max(w, 1) / Math.max(t, 1))];
const curve = picture("curve");
const draw = () => {
  const kind = Number(one("shape").value), w = one("warmup").valueAsNumber;
  const final = one("final").valueAsNumber, total = state.total;
  const eta = (t) => {
    if (t < w) return (t + 1) / (w + 1);
    return final + (1 - final) * shapes[kind]((t - w) / (total - w), t, w);
  };
  const points = [];
  let area = 0;
  for (let t = 0; t <= total; t += 5) {
    area += Math.min(eta(t), 1) * (t === 0 || t === total ? 2.5 : 5);
    points.push([t, eta(t)]);
  }
  const mean = area / total;
  curve.show({x: {range: [0, total], label: "step"}, aspect: 0.45,
    y: {range: [0, 1.05], label: "step size / peak"},
    marks: [{kind: "line", at: [[0, mean], [total, mean]], color: "second", dash: "6 4", width: 2},
      {kind: "line", at: points}]});
  text("warmup-value", String(w));
  text("final-value", fixed(final, 2));
  text("half", fixed(eta(total / 2), 3));
  text("end", fixed(eta(total), 3));
  text("mean", fixed(mean, 3));
};
changed(draw);
reset(draw);
one("shape").addEventListener("change", draw);
draw();
