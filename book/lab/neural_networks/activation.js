const plane = picture("curves");
const draw = () => {
  const curve = state.curves[Number(one("which").value)];
  const z = one("z").valueAsNumber, i = Math.round((z + 4) * 20), low = -1.2, high = 4.2;
  const graph = (list) => state.grid.map((u, k) => [u, list[k]]);
  plane.show({x: {range: [-4, 4], label: "input z"}, y: {range: [low, high]}, marks: [
    {kind: "line", at: [[z, low], [z, high]], color: "soft", width: 1},
    {kind: "line", at: graph(curve.value), color: "accent"},
    {kind: "line", at: graph(curve.slope), color: "second", dash: "7 4"},
    {kind: "dots", at: [[z, curve.slope[i]]], color: "second"},
    {kind: "dots", at: [[z, curve.value[i]]], color: "accent"}]});
  ["value", "slope"].forEach((name) => text(name, fixed(curve[name][i], 4)));
  text("z-value", fixed(z, 2));
  text("chain", scientific(Math.abs(curve.slope[i]) ** 10));
};
plane.handle({label: "input z", color: "accent", step: 0.05,
  says: () => fixed(one("z").valueAsNumber, 2),
  at: () => {
    const z = one("z").valueAsNumber;
    return [z, state.curves[Number(one("which").value)].value[Math.round((z + 4) * 20)]];
  },
  move: ([z]) => { one("z").value = z.toFixed(2); draw(); }});
changed(draw);
reset(draw);
draw();
