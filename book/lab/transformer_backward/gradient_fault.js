const draw = () => {
  const fault = Number(one("fault").value), red = state.caught[fault];
  red.forEach((fails, i) => {
    one("row", i).setAttribute("data-red", String(fails));
    text("verdict", fails ? "✗ fails" : "✓ passes", i);
  });
  text("count", String(red.filter((x) => x).length));
  text("change", state.changes[fault]);
};
changed(draw);
draw();
