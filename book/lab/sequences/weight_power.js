const draw = () => {
  const lambda = one("eigenvalue").valueAsNumber, T = one("steps").valueAsNumber;
  const slope = one("slope").valueAsNumber, rate = Math.abs(lambda * slope);
  const log10 = (T - 1) * Math.log10(rate);
  text("eigenvalue-value", fixed(lambda, 2));
  text("slope-value", fixed(slope, 2));
  text("steps-value", String(T));
  text("rate", fixed(rate, 3));
  text("power", `10^${fixed(log10, 2)}`);
  const half = Math.log(2) / Math.abs(Math.log(rate));
  const verb = rate < 1 ? "halves" : "doubles";
  text("half", Math.abs(rate - 1) < 1e-9
    ? "stays as it is" : `${verb} every ${fixed(half, 1)} steps`);
  bar("bar", Math.min(1, Math.max(0, (log10 + 6) / 12)));
};
changed(draw);
reset(draw);
draw();
