const pick = (name) => Number(one(name).value);
const draw = () => {
  const slip = 10 ** pick("slip"), back = pick("back") / 100, T = pick("length");
  let lost = 0, wrong = 0, points = [];
  for (let t = 1; t <= T; t++) {
    lost = lost * (1 - back) + slip * (1 - lost);
    wrong += lost;
    points.push(`${40 + 340 * t / T},${130 - 110 * lost}`);
  }
  text("slip-value", slip.toPrecision(2));
  text("back-value", `${pick("back")} %`);
  text("length-value", String(T));
  one("line").setAttribute("points", `40,130 ${points.join(" ")}`);
  text("lost", `${fixed(100 * lost, 1)} %`);
  text("level", `${fixed(100 * slip / (slip + back), 1)} %`);
  text("wrong", fixed(wrong, 1));
  text("forced", fixed(slip * T, 1));
};
changed(draw);
reset(draw);
draw();
