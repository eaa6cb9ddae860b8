const plane = picture("plane"), pick = (name) => Number(one(name).value);
const chance = (gap) => 1 / (1 + Math.exp(-gap));
const draw = () => {
  const gap = pick("gap"), N = pick("number"), p = chance(gap);
  const won = state.draws.slice(0, N).filter((u) => u < p).length, lost = N - won;
  const some = won > 0 && lost > 0;
  const guess = some ? Math.log(won / lost) : 0;
  const error = some ? Math.sqrt(1 / won + 1 / lost) : 0;
  const curve = Array.from({ length: 61 }, (_, i) => [i / 5 - 6, chance(i / 5 - 6)]);
  plane.show({x: {range: [-6, 6], label: "difference of rewards [nats]"}, aspect: 0.5,
    y: {range: [0, 1], label: "probability that the first wins"}, marks: [
      {kind: "line", at: curve, color: "accent"},
      ...(some ? [{kind: "line", at: [-1.96, 1.96].map((z) => [guess + z * error, 0.08]),
        color: "second", width: 3}, {kind: "dots", at: [[guess, 0.08]], color: "second"}] : []),
      {kind: "dots", at: [[gap, p]], color: "accent", size: 6}]});
  text("gap-value", fixed(gap, 1));
  text("number-value", String(N));
  text("p", fixed(p, 3));
  text("won", String(won));
  text("lost", String(lost));
  text("found", some ? `${fixed(guess, 2)} ± ${fixed(1.96 * error, 2)}` : "no finite number");
};
plane.handle({label: "true difference", color: "accent", step: 0.1,
  at: () => [pick("gap"), chance(pick("gap"))], says: () => fixed(pick("gap"), 1),
  move: ([gap]) => { one("gap").value = Math.max(-5, Math.min(5, gap)).toFixed(1); draw(); }});
changed(draw);
reset(draw);
draw();
