const draw = () => {
  const f = Number(one("format").value), chat = state.chats[f];
  const learned = state.learned[Number(one("rule").value)];
  const asked = chat.map((p, i) => i > 0 && learned.includes(p.part));
  one("place").max = String(chat.length - 1);
  const k = Math.min(Number(one("place").value), chat.length - 1);
  state.chats.forEach((c, g) => {
    one("strip", g).hidden = g !== f;
    all(`piece-${g}`).forEach((e, i) => {
      const marks = g === f ? [asked[i] ? "asked" : "", i === k ? "now" : ""] : [];
      e.className = [c[i].part, ...marks].filter((m) => m).join(" ");
    });
  });
  text("place-value", String(k));
  text("tokens", String(chat.length));
  text("asked", String(asked.filter((x) => x).length));
  text("told", `Behind ${k} tokens, the last of them ${chat[k - 1].shown}, the model is asked `
    + `for ${chat[k].shown}. ${asked[k] ? "This counts." : "This does not count."}`);
};
changed(draw);
reset(draw);
draw();
