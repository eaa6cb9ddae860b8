const pick = (name) => Number(one(name).value);
const top = Math.max(...state.proxy, ...state.linear), far = state.kl[state.kl.length - 1];
const x = (kl) => 40 + 340 * kl / far;
const y = (r) => 150 - 130 * Math.max(state.floor, r) / top;
const above = (gold) => {
  const end = gold.findIndex((r) => r < state.floor);
  const line = gold.slice(0, end < 0 ? gold.length : end).map((r, i) => [state.kl[i], r]);
  if (end > 0) {
    const share = (gold[end - 1] - state.floor) / (gold[end - 1] - gold[end]);
    line.push([state.kl[end - 1] + share * (state.kl[end] - state.kl[end - 1]), state.floor]);
  }
  return line.map(([kl, r]) => `${x(kl).toFixed(1)},${y(r).toFixed(1)}`).join(" ");
};
const draw = () => {
  const excess = pick("excess"), price = pick("price");
  const gold = state.linear.map((r, i) => r - excess / 2 * state.share * (state.square[i] - 1));
  const worth = state.proxy.map((r, i) => r - price * state.kl[i]);
  const best = worth.indexOf(Math.max(...worth)), peak = gold.indexOf(Math.max(...gold));
  one("gold").setAttribute("points", above(gold));
  one("at").setAttribute("cx", String(x(state.kl[best])));
  one("at").setAttribute("cy", String(y(gold[best])));
  one("at").setAttribute("fill-opacity", gold[best] < state.floor ? "0" : "1");
  text("excess-value", fixed(excess, 2));
  text("price-value", fixed(price, 2));
  text("n", String(state.n[best]));
  text("proxy-reward", fixed(state.proxy[best], 2));
  text("gold-reward", fixed(gold[best], 2));
  text("peak", String(state.n[peak]));
  text("peak-reward", fixed(gold[peak], 2));
};
changed(draw);
reset(draw);
draw();
