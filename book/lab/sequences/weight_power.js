const plane = picture("size");
const powerOfTen = (log10) => {  // also where the number itself is too small for the machine
  if (Math.abs(log10) < 4) return scientific(10 ** log10);
  const k = Math.floor(log10 + 1e-12), m = fixed(10 ** (log10 - k), 1);
  return m === "10.0" ? `1.0 × 10${raised(k + 1)}` : `${m} × 10${raised(k)}`;
};
const draw = () => {
  const lambda = one("eigenvalue").valueAsNumber, T = one("steps").valueAsNumber;
  const slope = one("slope").valueAsNumber, rate = Math.abs(lambda * slope);
  const log10 = (T - 1) * Math.log10(rate), size = [...Array(T).keys()].map((t) => [t, rate ** t]);
  plane.show({x: {range: [0, 200], label: "steps back"}, aspect: 0.45,
    y: {range: [1e-12, 1e12], log: true, label: "size of the gradient, at first 1"}, marks: [
      {kind: "line", at: [[0, 1], [200, 1]], color: "soft", width: 1, dash: "4 4"},
      {kind: "line", at: size, color: "accent"},
      {kind: "dots", at: [[T - 1, Math.min(1e12, Math.max(1e-12, rate ** (T - 1)))]],
        color: "second",
        size: 6}]});
  text("eigenvalue-value", fixed(lambda, 2));
  text("slope-value", fixed(slope, 2));
  text("steps-value", String(T));
  text("rate", fixed(rate, 3));
  text("power", powerOfTen(log10));
  const half = Math.log(2) / Math.abs(Math.log(rate));
  const verb = rate < 1 ? "halves" : "doubles";
  text("half", Math.abs(rate - 1) < 1e-9
    ? "stays as it is" : `${verb} every ${fixed(half, 1)} steps`);
};
changed(draw);
reset(draw);
draw();
