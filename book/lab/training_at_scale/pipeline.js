const plan = (p, m, ahead) => {
  const waiting = [...Array(p).keys()].map((s) => {
    const first = Math.min(ahead(s), m), order = [];
    for (let j = 0; j < first; j++) order.push([j, 0]);
    for (let j = 0; j < m; j++) {
      order.push([j, 1]);
      if (j + first < m) order.push([j + first, 0]);
    }
    return order;
  });
  const done = {}, free = Array(p).fill(0), tasks = [];
  while (waiting.some((w) => w.length)) {
    for (let s = 0; s < p; s++) {
      while (waiting[s].length) {
        const [j, back] = waiting[s][0];
        const needed = back
          ? [[s, j, 0], ...(s < p - 1 ? [[s + 1, j, 1]] : [])]
          : s ? [[s - 1, j, 0]] : [];
        if (!needed.every((key) => String(key) in done)) break;
        waiting[s].shift();
        const start = Math.max(free[s], ...needed.map((key) => done[String(key)]));
        free[s] = done[String([s, j, back])] = start + 1 + back;
        tasks.push([s, j, back, start]);
      }
    }
  }
  return [tasks, Math.max(...free)];
};
const plane = picture("picture");
const draw = () => {
  const p = Number(one("stages").value), m = Number(one("parts").value);
  const ordered = Number(one("order").value) === 1;
  const [tasks, total] = plan(p, m, ordered ? (s) => p - s : () => m);
  const numbers = tasks.map(([s, j, back, start]) => ({kind: "text", text: String(j + 1),
    at: [[start + (1 + back) / 2, s + 0.5]], room: 1 + back, anchor: "middle", dy: 4, color: "bg",
      halo: 0}));
  plane.show({x: {range: [0, total], label: "time [forward passes of one stage]"},
    y: {range: [p, 0], ticks: [...Array(p).keys()].map((s) => [s + 0.5, `stage ${s + 1}`])},
    aspect: 0.1 + 0.055 * p, tallest: 54 + 34 * p, widest: 900, marks: [
      {kind: "boxes", at: [[0, 0, total, p]], color: "track"},
      {kind: "boxes", at: tasks.map(([s, , back, start]) => [start, s, start + 1 + back, s + 1]),
        color: tasks.map(([, , back]) => back ? "second" : "accent"), gap: 1.5}, ...numbers]});
  text("stages-value", String(p));
  text("parts-value", String(m));
  text("idle", `${fixed(100 * (p - 1) / (m + p - 1), 1)} %`);
  text("whole", String(total));
  text("held", String(ordered ? Math.min(m, p) : m));
};
changed(draw);
reset(draw);
draw();
