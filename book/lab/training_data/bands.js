const plane = picture("plane"), found = (s, r, b) => 1 - Math.pow(1 - Math.pow(s, r), b);
const draw = () => {
  const r = one("rows").valueAsNumber, b = one("bands").valueAsNumber;
  const s = one("similarity").valueAsNumber, p = found(s, r, b), step = Math.pow(1 / b, 1 / r);
  const points = Array.from({ length: 101 }, (_, i) => [i / 100, found(i / 100, r, b)]);
  plane.show({x: {range: [0, 1], label: "similarity of a pair"}, aspect: 0.55,
    y: {range: [0, 1], label: "probability of being found"}, marks: [
      {kind: "line", at: [[step, 0], [step, 1]], color: "soft", width: 1, dash: "4 4"},
      {kind: "line", at: points, color: "accent"},
      {kind: "dots", at: [[s, p]], color: "second", size: 6}]});
  text("rows-value", r);
  text("bands-value", b);
  text("similarity-value", fixed(s, 2));
  text("hashes", r * b);
  text("threshold", fixed(step, 2));
  text("chance", fixed(100 * p, 1));
};
plane.handle({label: "similarity", color: "second", step: 0.01,
  at: () => {
    const s = one("similarity").valueAsNumber;
    return [s, found(s, one("rows").valueAsNumber, one("bands").valueAsNumber)];
  },
  move: ([s]) => { one("similarity").value = s.toFixed(2); draw(); }});
changed(draw);
reset(draw);
draw();
