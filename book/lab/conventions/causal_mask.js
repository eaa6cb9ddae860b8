const table = picture("table");
const draw = () => {
  const T = one("queries").valueAsNumber, S = one("keys").valueAsNumber;
  const window = one("window").valueAsNumber, most = state.most;
  const shift = one("corner").value === "0" ? S - T : 0;
  let seen = 0, blind = 0;
  const at = [], color = [];
  for (let t = 0; t < T; t++) {
    let row = 0;
    for (let s = 0; s < S; s++) {
      const sees = s - shift <= t && t - window < s - shift;
      at.push([s, t, s + 1, t + 1]);
      color.push(sees ? "accent" : "track");
      row += sees;
    }
    seen += row;
    blind += row === 0;
  }
  const ticks = [...Array(most).keys()].map((i) => [i + 0.5, String(i + 1)]);
  table.show({x: {range: [0, most], ticks, label: "key"}, y: {range: [most, 0], ticks,
    label: "query"},
    equal: true, aspect: 0.9, tallest: 320, marks: [{kind: "boxes", at, color, gap: 2,
      edge: "line"}]});
  ["queries", "keys", "window"].forEach((n) => text(n + "-value", one(n).value));
  text("seen", seen);
  text("all", T * S);
  text("blind", blind);
};
changed(draw);
draw();
