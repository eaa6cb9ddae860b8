const sum = (a) => a.reduce((s, x) => s + x, 0);
const turned = (A) => A[0].map((_, j) => A.map((a) => a[j]));
const times = (A, B) => A.map((a) => turned(B).map((b) => sum(a.map((x, i) => x * b[i]))));
const plus = (A, B) => A.map((a, i) => a.map((x, j) => x + B[i][j]));
const norm = (A) => A.map((a) => {
  const mean = sum(a) / a.length, spread = sum(a.map((x) => (x - mean) ** 2)) / a.length;
  return a.map((x) => (x - mean) / Math.sqrt(spread + 1e-5));
});
const soft = (A) => A.map((a) => {
  const top = Math.max(...a), e = a.map((x) => Math.exp(x - top)), total = sum(e);
  return e.map((x) => x / total);
});
const trace = (ids, next) => {
  const map = (A, name) => times(A, turned(state.maps[name]));
  const X = ids.map((i) => state.table[i]), Y = plus(X, state.positions);
  const [Q, K, V] = ["W_q", "W_k", "W_v"].map((name) => map(Y, name));
  const S = times(Q, turned(K)).map((row, t) => row.map((s, j) =>
    j > t ? -Infinity : s / Math.sqrt(K[0].length)));
  const A = soft(S), C = times(A, V), H = norm(plus(Y, C));
  const F = map(map(H, "W_in").map((row) => row.map((x) => Math.max(x, 0))), "W_out");
  const G = norm(plus(H, F)), L = times(G, turned(state.table));
  const P = soft(L).map((p, t) => [...p, -Math.log(p[next[t]])]);
  return [X, Y, Q, K, V, S, A, C, H, G, L, P];
};
const heads = (k, words) => {
  if (k === 5 || k === 6) return words;
  if (k < 10) return state.table[0].map((_, j) => String(j + 1));
  return k === 10 ? state.words : [...state.words, "loss"];
};
const draw = () => {
  const ids = all("word").map((e) => Number(e.value)), T = state.positions.length;
  const shown = ids.slice(0, T), next = ids.slice(1), k = one("step").valueAsNumber - 1;
  const M = trace(shown, next)[k], names = heads(k, shown.map((i) => state.words[i]));
  for (let j = 0; j < state.width; j++) text("head", j < names.length ? names[j] : "", j);
  shown.forEach((i, t) => {
    text("row", state.words[i], t);
    for (let j = 0; j < state.width; j++) {
      const at = t * state.width + j, there = j < names.length, x = there ? M[t][j] : 0;
      text("cell", !there ? "" : x === -Infinity ? "−∞" : fixed(x, 2), at);
      one("cell", at).setAttribute("data-here", String(k >= 10 && j === next[t]));
    }
  });
  text("step-value", String(k + 1));
  text("formula", state.steps[k][0]);
  text("note", state.steps[k][1]);
};
const go = (by) => {
  const step = one("step"), last = state.steps.length;
  const to = Math.min(last, Math.max(1, step.valueAsNumber + by));
  step.value = String(to);
  draw();
  return to < last;
};
let clock = 0;
const stop = () => { clearInterval(clock); clock = 0; text("play", "play"); };
[["back", -1], ["next", 1]].forEach(([name, by]) =>
  all(name).forEach((b) => b.addEventListener("click", () => { stop(); go(by); })));
all("play").forEach((b) => {
  if (still) b.style.display = "none";
  b.addEventListener("click", () => {
    if (clock) return stop();
    if (!go(1)) { one("step").value = "1"; draw(); }
    text("play", "pause");
    clock = setInterval(() => { if (!go(1)) stop(); }, 1800);
  });
});
changed(draw);
reset(() => { stop(); draw(); });
draw();
