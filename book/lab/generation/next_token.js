const draw = () => {
  const e = state.examples[Number(one("example").value)];
  const T = one("temperature").valueAsNumber, k = one("k").valueAsNumber;
  const P = one("p").valueAsNumber, r = one("m").valueAsNumber;
  const most = k >= 16 ? Infinity : Math.round(2 ** k);
  const w = e.z.map((z) => Math.exp(z / T));
  const sum = w.reduce((a, x, i) => a + e.n[i] * x, 0), p = w.map((x) => x / sum);
  const H = p.reduce((a, x, i) => x > 0 ? a - e.n[i] * x * Math.log(x) : a, 0);
  let [first, room] = [0, most];
  for (let i = 0; i < p.length && room > 0; i++) {
    first += Math.min(e.n[i], room) * p[i];
    room -= e.n[i];
  }
  let [kept, mass] = [0, 0];
  for (let i = 0; i < p.length; i++) {
    const need = P >= 1 ? Infinity : Math.ceil((P * first - mass) / p[i] - 1e-9);
    const take = Math.min(e.n[i], most - kept, kept ? need : Math.max(need, 1));
    if (take <= 0 || p[i] < r * p[0]) break;
    kept += take;
    mass += take * p[i];
    if (take < e.n[i]) break;
  }
  text("temperature-value", fixed(T, 2));
  text("k-value", most === Infinity ? "all" : String(most));
  text("p-value", fixed(P, 2));
  text("m-value", fixed(r, 2));
  e.words.forEach((word, i) => {
    const q = i < kept ? p[i] / mass : 0;
    text("word", word, i);
    text("before", fixed(p[i], 3), i);
    text("after", q ? fixed(q, 3) : "dropped", i);
    bar("after-bar", q, i);
  });
  text("entropy", fixed(H, 2));
  text("kept", kept.toLocaleString("en-US"));
  text("mass", fixed(mass, 3));
  text("cost", fixed(-Math.log(mass), 2));
};
changed(draw);
reset(draw);
draw();
