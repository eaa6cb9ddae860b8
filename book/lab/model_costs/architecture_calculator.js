const pick = (name) => Number(one(name).value);
const short = (x) => {
  const [letter, size] = state.units.find(([, s]) => x >= s) || ["", 1];
  const y = x / size;
  return `${fixed(y, y < 10 ? 2 : y < 100 ? 1 : 0)} ${letter}`;
};
const gcd = (a, b) => b ? gcd(b, a % b) : a;
let last = pick("plan");
const load = () => Object.entries(state.plans[pick("plan")]).forEach(([name, x]) => {
  one(name).value = String(x);
});
const draw = () => {
  if (pick("plan") !== last) load();
  last = pick("plan");
  const L = pick("layers"), D = pick("width"), F = pick("inner"), V = pick("vocabulary");
  const K = D % 128 && pick("head") ? 64 : 64 * (1 + pick("head")), H = D / K;
  const G = gcd(H, pick("groups")), T = 2 ** pick("context");
  const llama = pick("style") === 1, tied = pick("tied") === 0;
  const bias = llama ? 0 : 1, tokens = 10 ** pick("tokens");
  const embedding = V * D + (llama ? 0 : T * D) + (tied ? 0 : V * D);
  const attention = L * (D * (H + 2 * G) * K + H * K * D + bias * ((H + 2 * G) * K + D));
  const inner = L * ((llama ? 3 : 2) * D * F + bias * (F + D));
  const norms = (2 * L + 1) * (1 + bias) * D;
  const N = embedding + attention + inner + norms;
  const matrices = L * (D * (H + 2 * G) * K + H * K * D + (llama ? 3 : 2) * D * F) + V * D;
  const perToken = 3 * 2 * (matrices + 2 * L * T * H * K);
  const norm = llama ? 3 * D + 1 : 2 * D + 2;
  const heads = ((llama ? 3 : 2) * H + 2 * G) * K + H, between = (llama ? 4 : 2) * F;
  const saved = 2 * T * (L * (2 * norm + heads + between) + norm + V);
  const cache = 2 * L * G * K * T * 2;
  const rate = state.devices[pick("device")], devices = 2 ** pick("count");
  const days = perToken * tokens / (devices * pick("use") / 100 * rate) / 86400;
  const shown = {layers: String(L), width: grouped(D), inner: grouped(F),
    context: grouped(T), tokens: short(tokens), count: grouped(devices),
    use: one("use").value, groups: one("groups").value};
  Object.entries(shown).forEach(([name, word]) => text(`${name}-value`, word));
  text("G", String(G));
  text("H", String(H));
  text("N", grouped(N));
  text("size", short(N));
  text("forward", short(perToken / 3));
  text("total", scientific(perToken * tokens, 2));
  text("ratio", fixed(perToken / (6 * N), 2));
  text("steady", bytes(16 * N));
  text("saved", bytes(saved));
  text("cache", bytes(cache));
  text("days", days < 10 ? fixed(days, 2) : grouped(days));
  [embedding, attention, inner].forEach((part, i) => {
    bar("bar", part / N, i);
    text("share", `${fixed(100 * part / N, 1)} %`, i);
  });
};
changed(draw);
reset(() => { last = pick("plan"); draw(); });
draw();
