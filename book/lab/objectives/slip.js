const plane = picture("curve"), pick = (name) => Number(one(name).value);
const draw = () => {
  const slip = 10 ** pick("slip"), back = pick("back") / 100, T = pick("length");
  const level = slip / (slip + back), points = [[0, 0]];
  let lost = 0, wrong = 0;
  for (let t = 1; t <= T; t++) {
    lost = lost * (1 - back) + slip * (1 - lost);
    wrong += lost;
    points.push([t, lost]);
  }
  plane.show({x: {range: [0, T], label: "step"}, aspect: 0.45,
    y: {range: [0, 1], label: "share of texts that are lost"}, marks: [
      {kind: "line", at: [[0, level], [T, level]], color: "second", width: 1.5, dash: "5 4"},
      {kind: "line", at: points, color: "accent"}]});
  text("slip-value", scientific(slip));
  text("back-value", `${pick("back")} %`);
  text("length-value", String(T));
  text("lost", `${fixed(100 * lost, 1)} %`);
  text("level", `${fixed(100 * level, 1)} %`);
  text("wrong", fixed(wrong, 1));
  text("forced", fixed(slip * T, 1));
};
changed(draw);
reset(draw);
draw();
