const curve = picture("curve");
const draw = () => {
  const p = one("p").valueAsNumber, loss = -Math.log(p);
  const points = Array.from({length: 100}, (_, i) => [(i + 1) / 100, -Math.log((i + 1) / 100)]);
  curve.show({x: {range: [0, 1], label: "probability of the correct token"}, aspect: 0.45,
    y: {range: [0, 5], label: "loss [nats]"}, marks: [{kind: "line", at: points, color: "accent"},
      {kind: "line", at: [[p, 0], [p, loss]], color: "second", width: 2},
      {kind: "dots", at: [[p, loss]], color: "second"}]});
  text("p-value", fixed(p, 2));
  text("loss", fixed(loss, 2));
  text("bits", fixed(loss / Math.LN2, 2));
  text("choices", fixed(1 / p, 2));
  text("slope", fixed(p - 1, 2));
};
curve.handle({label: "probability of the correct token", color: "second", step: 0.01,
  at: () => [one("p").valueAsNumber, -Math.log(one("p").valueAsNumber)],
  says: () => fixed(one("p").valueAsNumber, 2),
  move: ([p]) => { one("p").value = Math.max(0.01, p).toFixed(2); draw(); }});
changed(draw);
reset(draw);
draw();
