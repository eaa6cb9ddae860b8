const map = picture("map"), n = state.words.length;
let spots = [];
const show = (i) => {
  const near = state.neighbors[i], place = (j) => [state.places[j]];
  const name = (j) => ({kind: "text", at: place(j), text: state.words[j], anchor: "middle", dy: -9,
    ...(j === i || near.includes(j) ? {color: "fg", size: 14, weight: 600}
      : {color: "soft", least: 480})});
  const kind = (j) => j === i ? "accent" : near.includes(j) ? "second" : "soft";
  const order = state.words.map((_, j) => j).sort((a, b) =>
    (kind(a) !== "soft") - (kind(b) !== "soft"));
  map.show({x: state.x, y: state.y, aspect: 0.9, tallest: 420, marks: [
    ...near.map((j) => ({kind: "line", at: [state.places[i], state.places[j]], color: "second",
      width: 1.5})), ...order.map((j) => ({kind: "dots", at: place(j), color: kind(j), size: 4})),
    ...order.map(name)]});
  spots.forEach((g, j) => g.setAttribute("tabindex", j === i ? "0" : "-1"));
  near.forEach((j, k) => {
    text("neighbor", state.words[j], k);
    text("cosine", fixed(state.cosines[i][k], 2), k);
    bar("bar", Math.max(0, state.cosines[i][k]), k);
  });
  text("center", state.words[i]);
  one("choice").value = String(i);
};
show(Number(one("choice").value));
spots = state.words.map((word, i) => map.handle({label: word, at: () => state.places[i],
  choose: () => show(i), key: (by) => spots[(i + by + n) % n].focus()}));
show(Number(one("choice").value));
one("choice").addEventListener("change", () => show(Number(one("choice").value)));
