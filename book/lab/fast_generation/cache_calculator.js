const draw = () => {
  const m = state.models[Number(one("model").value)];
  const heads = [m.heads, m.queries, 1][Number(one("sharing").value)];
  const T = 2 ** Number(one("tokens").value), B = 2 ** Number(one("texts").value);
  const bw = state.weightBits[Number(one("weights").value)] / 8;
  const bc = state.cacheBits[Number(one("cache").value)] / 8;
  const each = 2 * m.layers * heads * m.width * bc;
  const held = m.window ? Math.min(T, m.window) : T;
  const stored = m.all * bw, cache = each * held * B;
  const rate = B * state.bandwidth / (m.read * bw + cache);
  [stored, cache].forEach((x, i) => {
    bar("bar", x / (stored + cache), i);
    text("part", bytes(x), i);
  });
  text("tokens-value", T.toLocaleString("en-US"));
  text("texts-value", String(B));
  text("each", bytes(each));
  const fit = Math.max(0, Math.floor((state.card - stored) / (each * held)));
  text("fit", fit > 9999 ? "more than 9,999" : fit.toLocaleString("en-US"));
  const digits = (x) => x < 10 ? fixed(x, 1) : Math.floor(x).toLocaleString("en-US");
  text("rate", digits(rate));
  text("single", digits(rate / B));
};
changed(draw);
reset(draw);
draw();
