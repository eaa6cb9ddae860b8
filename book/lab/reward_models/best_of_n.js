const plane = picture("plane"), pick = (name) => Number(one(name).value);
const top = 1.1 * Math.max(...state.proxy, ...state.linear);
const draw = () => {
  const excess = pick("excess"), price = pick("price");
  const gold = state.linear.map((r, i) => r - excess / 2 * state.share * (state.square[i] - 1));
  const worth = state.proxy.map((r, i) => r - price * state.kl[i]);
  const best = worth.indexOf(Math.max(...worth)), peak = gold.indexOf(Math.max(...gold));
  const over = (list) => list.map((r, i) => [state.kl[i], r]);
  plane.show({x: {range: [0, state.kl[state.kl.length - 1]], label: "divergence [nats]"},
    y: {range: [state.floor, top], label: "reward [nats]"}, aspect: 0.5, marks: [
      {kind: "line", at: over(state.proxy), color: "second", dash: "6 4", width: 2},
      {kind: "line", at: over(gold), color: "accent"},
      {kind: "line", at: [state.floor, top].map((r) => [state.kl[best], r]), color: "soft",
        width: 1,
        dash: "3 3"}, {kind: "dots", at: [[state.kl[best], gold[best]]], color: "accent",
          size: 6}]});
  text("excess-value", fixed(excess, 2));
  text("price-value", fixed(price, 2));
  text("n", grouped(state.n[best]));
  text("proxy-reward", fixed(state.proxy[best], 2));
  text("gold-reward", fixed(gold[best], 2));
  text("peak", grouped(state.n[peak]));
  text("peak-reward", fixed(gold[peak], 2));
};
changed(draw);
reset(draw);
draw();
