const cloud = picture("cloud");
const draw = () => {
  const degrees = one("angle").valueAsNumber;
  const t = degrees * Math.PI / 180;
  const u = [Math.cos(t), Math.sin(t)];
  const along = state.points.map(([x, y]) => x * u[0] + y * u[1]);
  const n = along.length;
  const variance = along.reduce((s, x) => s + x * x, 0) / (n - 1);
  const axis = (label) => ({range: [-state.edge, state.edge], label});
  cloud.show({x: axis("first coordinate"), y: axis("second coordinate"), equal: true,
    tallest: 400, aspect: 1, marks: [
      {kind: "dots", at: state.points, color: "accent", size: 3.5, fade: 0.55},
      {kind: "line", at: [-9, 9].map((s) => u.map((x) => s * state.edge * x)), color: "second",
        dash: "7 5", width: 2},
      {kind: "dots", at: along.map((s) => u.map((x) => s * x)), color: "second", size: 2.5}]});
  text("angle-value", fixed(degrees, 0));
  text("variance", scientific(variance, 2));
  text("share", fixed(100 * variance / state.total, 1));
};
cloud.handle({label: "end of the line", color: "second", step: 0.001,
  at: () => {
    const t = one("angle").valueAsNumber * Math.PI / 180;
    return [0.85 * state.edge * Math.cos(t), 0.85 * state.edge * Math.sin(t)];
  },
  says: () => `${one("angle").value} degrees`,
  move: ([x, y]) => {
    one("angle").value = String(Math.round((Math.atan2(y, x) * 180 / Math.PI + 360) % 180));
    draw();
  },
  turn: (d) => {
    one("angle").value = String((one("angle").valueAsNumber + d + 180) % 180);
    draw();
  }});
changed(draw);
draw();
