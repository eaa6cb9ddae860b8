const work = picture("work");
const draw = () => {
  const n = Math.round(2 ** one("length").valueAsNumber);
  const d = Math.round(2 ** one("width").valueAsNumber);
  const pairs = (k) => 2 * k * k * d, maps = (k) => 4 * k * d * d;
  const along = (f) => [32, 2 ** 20].map((k) => [k, f(k)]);
  work.show({x: {range: [32, 2 ** 20], log: true, label: "length n [tokens]"}, aspect: 0.5,
    y: {range: [1e4, 1e17], log: true, label: "multiply-adds of a layer"}, marks: [
      {kind: "line", at: along(pairs), color: "accent"},
      {kind: "line", at: along(maps), color: "second"},
      {kind: "line", at: [[n, 1e4], [n, 1e17]], color: "soft", width: 1, dash: "3 3"},
      {kind: "dots", at: [[n, pairs(n)]], color: "accent", size: 6},
      {kind: "dots", at: [[n, maps(n)]], color: "second", size: 6}]});
  text("length-value", grouped(n));
  text("width-value", grouped(d));
  text("pairs", scientific(pairs(n), 2));
  text("maps", scientific(maps(n), 2));
  text("share", fixed(100 * pairs(n) / (pairs(n) + maps(n)), 0));
  text("weights", scientific(n * n, 2));
};
changed(draw);
draw();
