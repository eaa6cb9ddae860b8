const draw = () => {
  const run = state.runs[one("corpus").value][one("rule").value];
  const k = Math.min(one("merges").valueAsNumber, run.length - 1), now = run[k];
  text("merges-value", String(k));
  for (let i = 0; i < state.rows; i += 1) {
    const word = now.words[i] || ["", ""];
    text("times", word[0], i);
    text("split", word[1], i);
  }
  for (let i = 0; i < state.pairs; i += 1) {
    const pair = now.pairs[i] || ["", "", 0];
    text("pair", pair[0], i);
    text("count", pair[1], i);
    bar("bar", pair[2], i);
  }
  text("made", now.made);
  text("next", now.next);
};
changed(draw);
reset(draw);
draw();
