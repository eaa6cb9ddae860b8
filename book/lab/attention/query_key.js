const draw = () => {
  const q = numbers("q"), k = numbers("k");
  const dot = (a, b) => a.reduce((s, x, i) => s + x * b[i], 0);
  q.forEach((x, i) => text("product", fixed(x * k[i], 2), i));
  const s = dot(q, k), lengths = Math.sqrt(dot(q, q) * dot(k, k));
  text("dot", fixed(s, 2));
  text("scaled", fixed(s / Math.sqrt(q.length), 3));
  text("cosine", lengths > 0 ? fixed(s / lengths, 3) : "undefined");
};
changed(draw);
reset(draw);
draw();
