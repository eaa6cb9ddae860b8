const table = picture("table");
const draw = () => {
  const base = 10 ** one("base").valueAsNumber, t = one("position").valueAsNumber;
  const D = state.features, T = state.positions, bands = D / 2;
  const w = [...Array(bands).keys()].map((i) => base ** (-2 * i / D));
  const at = [], color = [], fade = [];
  for (let s = 0; s < T; s++) for (let j = 0; j < D; j++) {
    const angle = s * w[Math.floor(j / 2)], x = j % 2 ? Math.cos(angle) : Math.sin(angle);
    at.push([j, s, j + 1, s + 1]);
    color.push(x < 0 ? "second" : "accent");
    fade.push(Math.abs(x).toFixed(2));
  }
  const ticks = (n, by) => [...Array(Math.ceil(n / by)).keys()]
    .map((i) => [by * i + 0.5, String(by * i)]);
  const frame = [[0, t], [D, t], [D, t + 1], [0, t + 1], [0, t]];
  table.show({x: {range: [0, D], ticks: ticks(D, 1), label: "feature"}, aspect: 0.62, tallest: 380,
    y: {range: [T, 0], ticks: ticks(T, 4), label: "position"},
    marks: [{kind: "boxes", at, color, fade, gap: 1}, {kind: "line", at: frame, color: "fg"}]});
  w.forEach((x, i) => {
    text("sine", fixed(Math.sin(t * x), 2), i);
    text("cosine", fixed(Math.cos(t * x), 2), i);
    text("wave", scientific(2 * Math.PI / x, 2), i);
  });
  const near = w.reduce((a, x) => a + 2 - 2 * Math.cos(x), 0);
  text("base-value", grouped(Math.round(base)));
  text("position-value", String(t));
  text("step", fixed(Math.sqrt(near), 2));
};
changed(draw);
reset(draw);
draw();
