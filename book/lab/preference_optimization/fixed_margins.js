const sig = (x) => 1 / (1 + Math.exp(-x));
const odds = (won, lost) => won <= 0 ? -Infinity : lost <= 0 ? Infinity : Math.log(won / lost);
const logit = (q) => odds(q, 1 - q);
const draw = () => {
  const p = Number(one("p").value), e = Number(one("share").value);
  const margins = [
    logit(p), logit((1 - e) * p + e * (1 - p)), odds(p - e, 1 - e - p), p - 0.5,
    Math.sign(p - 0.5),
  ];
  text("p-value", fixed(p, 2));
  text("share-value", fixed(e, 2));
  margins.forEach((m, i) => {
    text("margin", m === Infinity ? "∞" : m === -Infinity ? "−∞" : fixed(m, 2), i);
    text("says", fixed(sig(m), 2), i);
    bar("bar", sig(m), i);
  });
};
changed(draw);
reset(draw);
draw();
