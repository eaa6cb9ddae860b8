const draw = () => {
  const T = one("queries").valueAsNumber, S = one("keys").valueAsNumber;
  const window = one("window").valueAsNumber;
  const shift = one("corner").value === "0" ? S - T : 0;
  let seen = 0, blind = 0;
  for (let t = 0; t < state.most; t++) {
    let row = 0;
    for (let s = 0; s < state.most; s++) {
      const cell = one("cell", t * state.most + s);
      const sees = s - shift <= t && t - window < s - shift;
      cell.setAttribute("class", t >= T || s >= S ? "off" : sees ? "sees" : "hidden");
      row += t < T && s < S && sees;
    }
    seen += row;
    blind += t < T && row === 0;
  }
  ["queries", "keys", "window"].forEach((n) => text(n + "-value", one(n).value));
  text("seen", seen);
  text("all", T * S);
  text("blind", blind);
};
changed(draw);
draw();
