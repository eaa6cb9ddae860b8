const show = (i) => {
  const row = Math.floor(i / width), column = i % width;
  state.tops[row][column].forEach(([token, p], k) => {
    text("token", token, k);
    bar("bar", p, k);
    text("p", fixed(p, 3), k);
  });
  text("depth", state.depths[row]);
  text("word", state.words[column]);
  text("best", state.tops[row][column][0][0]);
  text("share", fixed(state.tops[row][column][0][1], 3));
};
