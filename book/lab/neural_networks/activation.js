const draw = () => {
  const curve = state.curves[Number(one("which").value)];
  const z = one("z").valueAsNumber, i = Math.round((z + 4) * 20);
  ["value", "slope"].forEach((name) => {
    const points = curve[name].map((y, k) => `${state.grid[k]},${-y}`).join(" ");
    one(name + "-curve").setAttribute("points", points);
    one(name + "-dot").setAttribute("cx", z);
    one(name + "-dot").setAttribute("cy", -curve[name][i]);
    text(name, fixed(curve[name][i], 4));
  });
  one("at").setAttribute("x1", z);
  one("at").setAttribute("x2", z);
  text("z-value", fixed(z, 2));
  text("chain", (Math.abs(curve.slope[i]) ** 10).toPrecision(2).replace("-", "−"));
};
changed(draw);
reset(draw);
draw();
