// A model before and after tuning on preferences, under the same random numbers: a component that
// a page holds as <section class="train" data-pair>, where data-prompt is its first prompt. Its picture stands there until the reader opens
// it; then engine.js, weights.js and pair-adapter.js are loaded beside this file as scripts, which
// also works from a file, and everything is computed in a worker.
(() => {
  "use strict";
  const START = { prompt: "JULIET:\nO Romeo, Romeo! ", temperature: 0.8, seed: 1 };
  const LENGTH = 160, SURVEY = 20; // bytes of one text, texts of a count

  const toText = (bytes) => new TextDecoder().decode(Uint8Array.from(bytes));
  const marks = (bytes) => bytes.filter((byte) => byte === 33).length;
  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const shown = (bytes) => escaped(toText(bytes)).replace(/!/g, "<mark>!</mark>");
  const signed = (x) => `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(2)}`;

  // Add the update to a model: W ← W + s B A for each map, A (r, in) and B (out, r).
  function addUpdate(model, { rank, scale, maps, data }) {
    const numbers = new Float32Array(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer);
    let at = 0;
    for (const block of model.blocks) for (const name of maps) {
      const W = block[name], out = name === "Wout" || W.length === model.width ** 2 ? model.width : model.hidden;
      const ins = W.length / out, A = at, B = at + rank * ins;
      at = B + out * rank;
      for (let o = 0; o < out; o++) for (let i = 0; i < ins; i++) {
        let sum = 0;
        for (let k = 0; k < rank; k++) sum += numbers[B + o * rank + k] * numbers[A + k * ins + i];
        W[o * ins + i] += scale * sum;
      }
    }
    return model;
  }

  // --- what runs in the worker -------------------------------------------------------------------

  function serve(engine, addUpdate, weights, adapter, post) {
    const models = [engine.model(weights), addUpdate(engine.model(weights), adapter)];
    let job = 0;
    const begin = ({ ids, seed }) => models.map((model) => {
      const run = engine.newRun(model);
      engine.read(model, run, ids);
      return { model, run, uniform: engine.random(seed), ids: [] };
    });
    const further = (sides, { temperature }) => {
      for (const { model, run, uniform, ids } of sides) {
        if (run.ids.length < model.context) ids.push(engine.write(model, run, { temperature, topP: 1, uniform }));
      }
    };
    // log π(text) after the prompt, of one model for ids that it has read.
    const logProbability = (model, run, from) => {
      let sum = 0;
      for (let t = from; t < run.ids.length; t++) {
        sum += Math.log(engine.probabilities(engine.logitsAt(model, run, t - 1), 1)[run.ids[t]]);
      }
      return sum;
    };
    // β log π/π_ref of both texts.
    const rewards = (sides, from) => sides.map(({ run }, i) => {
      const other = engine.newRun(models[1 - i]);
      engine.read(models[1 - i], other, run.ids);
      const own = logProbability(models[i], run, from), theirs = logProbability(models[1 - i], other, from);
      return adapter.beta * (i === 1 ? own - theirs : theirs - own);
    });
    const write = (message, sides, mine) => {
      if (mine !== job) return;
      const started = performance.now();
      while (sides[0].ids.length < message.n && performance.now() - started < 40) further(sides, message);
      const done = sides[0].ids.length >= message.n;
      post({ kind: "wrote", texts: sides.map((side) => [...side.ids]), done });
      if (!done) return setTimeout(() => write(message, sides, mine));
      setTimeout(() => mine === job && post({ kind: "judged", rewards: rewards(sides, message.ids.length) }));
    };
    const survey = (message, counts, mine) => {
      if (mine !== job) return;
      const sides = begin({ ...message, seed: message.seed + counts.length });
      while (sides[0].ids.length < message.n) further(sides, message);
      counts.push(sides.map(({ ids }) => ids.filter((byte) => byte === 33).length));
      post({ kind: "counted", counts, done: counts.length === message.texts });
      if (counts.length < message.texts) setTimeout(() => survey(message, counts, mine));
    };
    return (message) => {
      job++;
      if (message.kind === "write") write(message, begin(message), job);
      if (message.kind === "survey") survey(message, [], job);
    };
  }

  if (typeof document === "undefined") {
    module.exports = { START, LENGTH, addUpdate, serve, shown };
    return;
  }

  const { load } = window.mathlmLive; // of load.js
  function makeWorker(take) {
    const { weights, adapter } = window.mathlmLive;
    const source = `const engine = (${window.mathlmEngine})();\n${addUpdate}\nlet take;
      onmessage = ({ data }) => {
        if (data.kind === "load") take = (${serve})(engine, addUpdate, data.weights, data.adapter, (m) => postMessage(m));
        else take(data);
      };`;
    const inPage = (post) => {
      let server;
      return (message) => {
        if (message.kind === "load") server = serve(window.mathlmEngine(), addUpdate, weights, adapter, post);
        else server(message);
      };
    };
    const send = window.mathlmLive.makeWorker(source, inPage, take);
    send({ kind: "load", weights, adapter });
    return send;
  }

  const PANEL = `
<label class="train-text">Prompt
  <textarea data-name="prompt" rows="2" spellcheck="false" autocapitalize="off" autocomplete="off"></textarea></label>
<div class="train-row">
  <button type="button" data-name="write" class="train-main">Write</button>
  <button type="button" data-name="next">Next seed</button>
  <label>seed <input type="number" data-name="seed" min="0" max="4294967295" step="1" value="${START.seed}"></label>
  <label>temperature <select data-name="temperature">${[0.5, 0.8, 1].map((t) =>
    `<option${t === START.temperature ? " selected" : ""}>${t}</option>`).join("")}</select></label>
</div>
<div class="train-pair">
  ${["Before", "After DPO"].map((name, i) => `<div><p class="train-head">${name}</p>
  <p class="train-output" data-name="text-${i}"></p><p class="train-note" data-name="said-${i}"></p></div>`).join("")}
</div>
<div class="train-row"><button type="button" data-name="survey">Count in ${SURVEY} texts</button>
  <span class="train-note" data-name="counted"></span></div>
<p class="train-told train-hidden" data-name="told" role="status" aria-live="polite"></p>`;

  function start(root) {
    const panel = document.createElement("div");
    panel.className = "train-panel";
    panel.innerHTML = PANEL;
    root.querySelectorAll(".train-before").forEach((part) => { part.hidden = true; });
    root.append(panel);
    const one = (name) => panel.querySelector(`[data-name="${name}"]`);
    const text = (name, words) => { if (one(name).textContent !== words) one(name).textContent = words; };
    one("prompt").value = root.dataset.prompt ?? START.prompt;
    const plural = (n) => `${n} exclamation mark${n === 1 ? "" : "s"}`;
    const heard = {
      wrote: ({ texts, done }) => {
        texts.forEach((bytes, i) => {
          one(`text-${i}`).innerHTML = shown(bytes);
          text(`said-${i}`, plural(marks(bytes)));
        });
        if (done) text("told", `Before: ${plural(marks(texts[0]))}; after: ${marks(texts[1])}.`);
        root.dataset.written = done;
      },
      judged: ({ rewards }) => rewards.forEach((reward, i) =>
        text(`said-${i}`, `${one(`said-${i}`).textContent}; implicit reward ${signed(reward)}`)),
      counted: ({ counts, done }) => {
        const mean = (i) => (counts.reduce((sum, pair) => sum + pair[i], 0) / counts.length).toFixed(2);
        const words = `Marks per text of ${LENGTH} bytes, mean of ${counts.length}: ${mean(0)} before, ${mean(1)} after.`;
        text("counted", words);
        if (done) text("told", words);
        root.dataset.counted = done;
      },
    };
    const send = makeWorker((message) => heard[message.kind](message));
    const given = (more) => {
      const seed = one("seed").valueAsNumber, ids = [...new TextEncoder().encode(one("prompt").value)].slice(-95);
      if (!(Number.isInteger(seed) && seed >= 0 && seed < 4294967296)) one("seed").value = START.seed;
      return { ids: ids.length ? ids : [10], seed: one("seed").valueAsNumber, temperature: Number(one("temperature").value), n: LENGTH, ...more };
    };
    const write = () => send(given({ kind: "write" }));
    one("write").onclick = write;
    one("next").onclick = () => {
      one("seed").value = (one("seed").valueAsNumber + 1) % 4294967296;
      write();
    };
    one("survey").onclick = () => send(given({ kind: "survey", texts: SURVEY }));
    write();
  }

  async function wake(root, button) {
    const label = button.textContent;
    button.disabled = true;
    button.textContent = "Loading …";
    try {
      await Promise.all(["engine.js", "weights.js", "pair-adapter.js"].map(load));
      start(root);
      root.querySelector(".train-panel .train-main").focus({ preventScroll: true });
    } catch (error) {
      button.disabled = false;
      button.textContent = `${label} (${error.message})`;
    }
  }
  const ready = () => document.querySelectorAll("[data-pair]").forEach((root) => {
    const button = root.querySelector(".train-start");
    button.hidden = false;
    button.onclick = () => wake(root, button);
  });
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", ready) : ready();
})();
