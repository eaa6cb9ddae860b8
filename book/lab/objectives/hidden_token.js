const pick = (name) => Number(one(name).value);
const draw = () => {
  const mask = pick("mask") / 100, random = (1 - mask) * pick("random") / 100;
  const keep = 1 - mask - random, V = 10 ** pick("vocabulary"), p = 10 ** pick("prior");
  const same = p * (keep + random / V), other = (1 - p) * random / V;
  const asked = same + other > 0, copy = asked ? same / (same + other) : 0;
  text("mask-value", `${fixed(100 * mask, 0)} %`);
  text("random-value", `${pick("random")} %`);
  text("vocabulary-value", String(Math.round(V)));
  text("prior-value", scientific(p));
  [mask, random, keep].forEach((share, i) => {
    bar("bar", share, i);
    text("share", `${fixed(100 * share, 1)} %`, i);
  });
  bar("copy-bar", copy);
  text("copy", asked ? `${fixed(100 * copy, 1)} %` : "never asked");
};
changed(draw);
reset(draw);
draw();
