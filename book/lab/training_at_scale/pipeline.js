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
const draw = () => {
  const p = Number(one("stages").value), m = Number(one("parts").value);
  const ordered = Number(one("order").value) === 1;
  const [tasks, total] = plan(p, m, ordered ? (s) => p - s : () => m);
  const boxes = tasks.map(([s, j, back, start]) =>
    `<rect x="${600 * start / total}" y="${22 * s}" width="${600 * (1 + back) / total - 1}" ` +
    `height="20" fill="${back ? "var(--second)" : "var(--accent)"}"></rect>`);
  one("picture").innerHTML =
    `<svg viewBox="0 0 600 ${22 * p}" width="600" role="img">${boxes.join("")}</svg>`;
  text("stages-value", String(p));
  text("parts-value", String(m));
  text("idle", `${fixed(100 * (p - 1) / (m + p - 1), 1)} %`);
  text("held", String(ordered ? Math.min(m, p) : m));
};
changed(draw);
reset(draw);
draw();
