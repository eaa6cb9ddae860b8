const plane = picture("plane");
const power = (x) => x > -3 && x < 4 ? scientific(10 ** x) : `10${raised(fixed(x, 0))}`;
const draw = () => {
  const kind = state.stacks[Number(one("sums").value)][Number(one("norms").value)];
  const l = one("block").valueAsNumber, [low, high] = state.ends.map((v) => 10 ** v);
  const lines = state.series.map((name, i) => {
    const log = state.runs[kind][name];
    text(name, power(log[l]));
    return {kind: "line", at: log.map((v, k) => [k, 10 ** v]), color: state.looks[i][0],
      ...(state.looks[i][1] ? {dash: state.looks[i][1]} : {})};
  });
  const last = state.runs[kind].rms.length - 1;
  plane.show({x: {range: [0, last], label: "block"}, aspect: 0.6,
    y: {range: [low, high], log: true, label: "in units of the start"},
    marks: [{kind: "line", at: [[l, low], [l, high]], color: "soft", width: 1}, ...lines]});
  text("block-value", String(l));
  text("kind", kind);
};
changed(draw);
reset(draw);
draw();
