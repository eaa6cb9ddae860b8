const draw = () => {
  const n = Math.round(2 ** one("length").valueAsNumber);
  const d = Math.round(2 ** one("width").valueAsNumber);
  const pairs = 2 * n * n * d, maps = 4 * n * d * d;
  text("length-value", String(n));
  text("width-value", String(d));
  text("pairs", (pairs / 1e9).toPrecision(3));
  text("maps", (maps / 1e9).toPrecision(3));
  text("share", fixed(100 * pairs / (pairs + maps), 0));
  text("weights", (n * n / 1e6).toPrecision(3));
};
changed(draw);
draw();
