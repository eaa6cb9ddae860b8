const tokens = all("token"), rows = all("alternative");
let at = state.at, timer = null;
const draw = (focus) => {
  const shown = one("written").valueAsNumber;
  at = Math.max(0, Math.min(at, shown - 1));
  tokens.forEach((token, i) => {
    token.style.visibility = i < shown ? "visible" : "hidden";
    token.setAttribute("aria-pressed", String(i === at));
    token.setAttribute("tabindex", i === at ? "0" : "-1");
  });
  if (focus) tokens[at].focus();
  const s = state.steps[at];
  text("written-value", String(shown));
  text("number", String(at + 1));
  text("chosen", s.word);
  text("probability", fixed(s.p, 3));
  text("rank", String(s.rank));
  text("uncertainty", fixed(s.entropy, 2));
  s.others.forEach(([word, p], i) => {
    text("alternative", word, i);
    text("share", fixed(p, 3), i);
    bar("share-bar", p, i);
    rows[i].style.fontWeight = word === s.word ? "700" : "400";
  });
};
const go = (i, focus) => {
  if (i < 0 || i >= one("written").valueAsNumber) return;
  at = i;
  draw(focus);
};
tokens.forEach((token, i) => {
  ["click", "mouseenter", "focus"].forEach((e) =>
    token.addEventListener(e, () => go(i, false)));
  token.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!step) return;
    e.preventDefault();
    go(at + step, true);
  });
});
const stop = () => { clearInterval(timer); timer = null; text("play", "replay"); };
all("play").forEach((b) => b.addEventListener("click", () => {
  if (timer) { stop(); return; }
  const slider = one("written");
  slider.value = still ? String(tokens.length) : "1";
  at = slider.valueAsNumber - 1;
  draw(false);
  if (still) return;
  text("play", "stop");
  timer = setInterval(() => {
    slider.value = String(slider.valueAsNumber + 1);
    at = slider.valueAsNumber - 1;
    draw(false);
    if (slider.valueAsNumber >= tokens.length) stop();
  }, 500);
}));
changed(() => { at = one("written").valueAsNumber - 1; draw(false); });
draw(false);
