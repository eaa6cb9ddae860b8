const step = one("step"), block = one("block"), tiles = picture("tiles");
const T = state.scores.length, S = state.scores;
const draw = () => {
  const b = state.blocks[Number(block.value)], across = Math.ceil(T / b);
  step.max = String(across * across);
  const k = Math.min(Number(step.value), across * across);
  const rows = S.map(() => ({mu: -Infinity, sum: 0, o: 0, shrink: 0, seen: 0}));
  const ends = (i) => [b * i, Math.min(b * (i + 1), T)];
  const tile = (i) => [ends(Math.floor(i / across)), ends(i % across)];  // queries, keys
  for (let i = 0; i < k; i++) {
    const [[q0, q1], [k0, k1]] = tile(i);
    for (let t = q0; t < q1; t++) {
      const r = rows[t], part = S[t].slice(k0, k1), top = Math.max(r.mu, ...part);
      r.shrink = r.mu === -Infinity ? 0 : Math.exp(r.mu - top);
      r.sum *= r.shrink;
      r.o *= r.shrink;
      part.forEach((s, j) => {
        const e = Math.exp(s - top);
        r.sum += e;
        r.o += e * state.values[k0 + j];
      });
      r.mu = top;
      r.seen = k1;
    }
  }
  const at = [], color = [], fade = [], marks = [];
  S.forEach((row, t) => row.forEach((s, j) => {
    const read = j < rows[t].seen, p = read ? Math.exp(s - rows[t].mu) / rows[t].sum : 0;
    at.push([j, t, j + 1, t + 1]);
    color.push(read ? "accent" : "track");
    fade.push(read ? 0.1 + 0.9 * p : 1);
    marks.push({kind: "text", at: [[j + 0.5, t + 0.5]], anchor: "middle", dy: 4, halo: 0,
      room: 0.99,
      text: fixed(s, 1), color: read && p > 0.7 ? "bg" : "fg"});
  }));
  const frame = ([[q0, q1], [k0, k1]]) => [[k0, q0], [k1, q0], [k1, q1], [k0, q1], [k0, q0]];
  const now = k ? tile(k - 1) : null;
  if (now) marks.push({kind: "line", at: frame(now), color: "second", width: 4});
  const names = [...Array(T).keys()].map((i) => [i + 0.5, String(i + 1)]);
  tiles.show({x: {range: [0, T], ticks: names, label: "key"}, y: {range: [T, 0], ticks: names,
    label: "query"}, equal: true, aspect: 0.8, tallest: 360,
    marks: [{kind: "boxes", at, color, fade, gap: 1}, ...marks]});
  rows.forEach((r, t) => {
    const begun = r.seen > 0, here = now && t >= now[0][0] && t < now[0][1];
    text("max", begun ? fixed(r.mu, 2) : "–", t);
    text("shrink", !begun ? "–" : here ? fixed(r.shrink, 3) : "", t);
    text("sum", begun ? fixed(r.sum, 3) : "–", t);
    text("mix", begun ? fixed(r.o, 3) : "–", t);
    text("y", begun ? fixed(r.o / r.sum, 3) : "–", t);
    one("row", t).setAttribute("data-here", String(Boolean(here)));
  });
  text("step-value", String(k));
  const span = ([a, z]) => z - a > 1 ? `${a + 1} to ${z}` : String(a + 1);
  text("now", now ? `Queries ${span(now[0])} meet keys ${span(now[1])}` : "Nothing is read yet");
  text("held", now ? String((now[0][1] - now[0][0]) * (now[1][1] - now[1][0])) : "0");
};
const stop = player("play", () => {
  if (Number(step.value) >= Number(step.max)) step.value = "0";
}, () => {
  step.value = String(Number(step.value) + 1);
  draw();
  return Number(step.value) < Number(step.max);
}, 600);
block.addEventListener("change", () => { stop(); step.max = "999"; step.value = "1"; draw(); });
changed(draw);
reset(() => { stop(); draw(); });
draw();
