// The live model: a component that a page holds as <section class="live-model" data-live>.
// Its picture, made when the book was built, stands there until the reader starts the model; then
// load.js loads engine.js and weights.js beside this file as scripts, which also works from a file,
// and everything is computed in a worker. The address after # holds the whole state.
// data-view chooses what the panel shows: nothing for the start page, "map" and "positions" are in
// this file, "sampling", "ablation" and "patching" in views.js; data-state is a link to start from.
// edits.js is the part of the start page in which weights are changed.
(() => {
  "use strict";
  const CONTEXT = 256, MOST = 160; // bytes that the model reads, bytes of one text that it writes
  const CHANGES = 16; // changes of weights
  const SLICE = 64; // cells of the strip that one task draws

  // --- bytes and text --------------------------------------------------------------------------

  // The bytes of a text in UTF-8; \x and two hexadecimal digits stand for any byte.
  function toBytes(text) {
    const encoder = new TextEncoder();
    return text.split(/(\\x[0-9a-fA-F]{2})/).flatMap((part, i) =>
      i % 2 ? [parseInt(part.slice(2), 16)] : [...encoder.encode(part)]);
  }

  // The text of bytes; what is no UTF-8, or would not be seen, stays visible as \x and its digits.
  function toText(bytes) {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const looksWritten = (i) => /^\\x[0-9a-fA-F]{2}/.test(String.fromCharCode(...bytes.slice(i, i + 4)));
    let text = "";
    for (let i = 0; i < bytes.length;) {
      const b = bytes[i], n = b < 0x80 ? 1 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : 4;
      let found = null;
      try {
        found = decoder.decode(Uint8Array.from(bytes.slice(i, i + n)));
      } catch { /* no character begins here */ }
      const good = found !== null && (b > 31 || b === 10) && b !== 127 && !looksWritten(i);
      text += good ? found : `\\x${hex(b)}`;
      i += good ? n : 1;
    }
    return text;
  }

  const hex = (byte) => byte.toString(16).padStart(2, "0");
  // One byte as one sign, and as a word for those who listen.
  const sign = (byte) => byte === 32 ? "␣" : byte === 10 ? "⏎" : byte > 32 && byte < 127
    ? String.fromCharCode(byte) : hex(byte).toUpperCase();
  const spoken = (byte) => byte === 32 ? "space" : byte === 10 ? "line break"
    : byte > 32 && byte < 127 ? `“${String.fromCharCode(byte)}”` : `byte ${hex(byte)}`;

  // --- the state, and the link that holds it -----------------------------------------------------

  const START = {
    view: "", prompt: toBytes("JULIET:\nO Romeo, Romeo! "), // what the picture of the page shows
    written: 0, seed: 1, temperature: 0.7, topP: 0.95,
    off: [], positions: true, layer: 0, head: 1, at: null, // at: null is the last position
    temperature2: 1, topP2: 1, // a second setting, of the view "sampling"
    byte: null, byte2: null, // answers, of "ablation" and "patching"; null: the likeliest
    other: [], depth: 0, // a second prompt and a place in the stream, of "patching"
    edits: [], // changes of weights, as the engine reads them: "2o-h1-x0"
  };
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  // Bytes with % and digits for all but what every program leaves alone in an address.
  const escaped = (bytes) => bytes.map((b) => {
    const c = String.fromCharCode(b);
    return /[A-Za-z0-9_-]/.test(c) ? c : `%${hex(b)}`;
  }).join("");
  const unescaped = (text) => (text.match(/%[0-9a-fA-F]{2}|[^%]/g) ?? []).map((part) =>
    part.length === 3 ? parseInt(part.slice(1), 16) : part.charCodeAt(0) & 255);

  // What differs from the start, as #live:p=To%20be&s=7
  function toLink(state) {
    const parts = {
      p: escaped(state.prompt), w: state.written, s: state.seed, t: state.temperature,
      k: state.topP, x: state.off.map((pair) => pair.join("-")).join("_"),
      r: state.positions ? 1 : 0, h: `${state.layer}-${state.head}`, i: state.at ?? "",
      u: state.temperature2, l: state.topP2, b: state.byte ?? "", c: state.byte2 ?? "",
      o: escaped(state.other), d: state.depth, v: state.view,
      e: state.edits.join("_"),
    };
    const plain = state === START ? {} : Object.fromEntries(
      toLink(START).slice(6).split("&").map((pair) => pair.split("=")));
    const changed = Object.entries(parts).filter(([name, value]) => plain[name] !== String(value));
    return `#live:${changed.map(([name, value]) => `${name}=${value}`).join("&")}`;
  }

  // The state that a link holds; what is missing or out of range is as at the start.
  function fromLink(hash) {
    if (!hash.startsWith("#live:")) return null;
    const parts = Object.fromEntries(hash.slice(6).split("&").map((pair) => pair.split("=")));
    const number = (name, old, low, high, whole = true) => {
      const x = parts[name] === undefined || parts[name] === "" ? NaN : Number(parts[name]);
      return x >= low && x <= high && (!whole || Number.isInteger(x)) ? x : old;
    };
    const heads = (text) => [...(text ?? "").matchAll(/([0-3])-([0-3])/g)].map((m) => [+m[1], +m[2]]);
    const prompt = parts.p === undefined ? START.prompt : unescaped(parts.p).slice(0, CONTEXT);
    const [[layer, head]] = [...heads(parts.h), [START.layer, START.head]];
    return {
      prompt, layer, head,
      off: heads(parts.x),
      written: number("w", START.written, 0, MOST),
      seed: number("s", START.seed, 0, 0xffffffff),
      temperature: number("t", START.temperature, 0, 2, false),
      topP: number("k", START.topP, 0.05, 1, false),
      positions: number("r", 1, 0, 1) === 1,
      at: number("i", null, 0, CONTEXT - 1),
      temperature2: number("u", START.temperature2, 0, 2, false),
      topP2: number("l", START.topP2, 0.05, 1, false),
      byte: number("b", null, 0, 255),
      byte2: number("c", null, 0, 255),
      other: unescaped(parts.o ?? "").slice(0, CONTEXT),
      depth: number("d", START.depth, 0, 4),
      edits: (parts.e ?? "").split("_").filter(Boolean).slice(0, CHANGES).map((code) => code.slice(0, 40)),
      view: /^[a-z]*$/.test(parts.v ?? "") ? parts.v ?? "" : "",
    };
  }

  // --- what runs in the worker -----------------------------------------------------------------

  // Returns a function that takes messages; `post` sends what it finds. Long work is cut into
  // pieces, and a message that comes between two of them ends it.
  function serve(engine, post) {
    const SIDE = 48; // the small maps have this many rows at most
    let model, changed, run, switches, trained, spare, pair, job = 0;

    // What a run predicts after each position, and what each byte cost.
    const predictions = (run) => {
      const T = run.ids.length, V = model.vocab;
      const found = { guess: [], sure: [], bits: [0], logits: run.logits.slice(0, T * V) };
      for (let t = 0; t < T; t++) {
        const p = engine.probabilities(engine.logitsAt(model, run, t), 1);
        let best = 0;
        for (let i = 1; i < V; i++) if (p[i] > p[best]) best = i;
        found.guess.push(best);
        found.sure.push(p[best]);
        if (t + 1 < T) found.bits.push(-Math.log2(p[run.ids[t + 1]]));
      }
      return found;
    };
    const view = (message, started) => {
      const T = run.ids.length;
      const found = { kind: "view", ids: [...run.ids], ...predictions(run) };
      if (message.off.length || !message.positions || changed !== model) { // beside the model as it was trained
        trained ??= engine.newRun(model);
        engine.read(model, trained, run.ids);
        found.trained = predictions(trained);
      }
      found.map = map(message.layer, message.head, T);
      found.small = small(T);
      found.side = Math.min(T, SIDE);
      found.ms = performance.now() - started;
      post(found, [found.logits.buffer, found.map.buffer, found.small.buffer]);
    };
    // The weights of one head, (T, T).
    const map = (layer, head, T) => {
      const C = model.context, whole = run.maps[layer], found = new Float32Array(T * T);
      for (let t = 0; t < T; t++) {
        for (let s = 0, from = (head * C + t) * C; s <= t; s++) found[t * T + s] = whole[from + s];
      }
      return found;
    };
    // All heads as shades from 0 to 255; where a map is larger, the darkest of each square.
    const small = (T) => {
      const side = Math.min(T, SIDE), C = model.context, H = model.heads;
      const found = new Uint8Array(model.layers * H * side * side);
      run.maps.forEach((whole, l) => {
        for (let h = 0; h < H; h++) {
          for (let t = 0; t < T; t++) {
            const row = ((l * H + h) * side + Math.floor(t * side / T)) * side;
            for (let s = 0, from = (h * C + t) * C; s <= t; s++) {
              const i = row + Math.floor(s * side / T);
              found[i] = Math.max(found[i], 255 * Math.sqrt(whole[from + s]));
            }
          }
        }
      });
      return found;
    };
    // The run of a message: the old one if its switches are the same, for its cache is good then.
    const prepare = ({ ids, off, positions, edits }) => {
      const wanted = JSON.stringify([off, positions, edits]);
      if (!run || wanted !== switches) {
        run = engine.newRun(model, { off, positions });
        const good = known(edits);
        changed = good.length ? engine.edited(model, good) : model;
      }
      switches = wanted;
      engine.read(changed, run, ids);
    };
    // Changes of weights that this model has; the others are said.
    const known = (edits) => {
      const why = [], good = edits.filter((code) => {
        try {
          return engine.spot(model, code);
        } catch (error) { why.push(error.message); }
      });
      if (why.length) post({ kind: "refused", why, edits: good });
      return good;
    };

    // One text for each of two settings, from the same random numbers.
    const writePair = (message, mine, uniforms, started) => {
      const { ids, settings, n, turn } = message, pause = performance.now() + 40;
      const length = ids.length + n;
      const left = () => pair.some((run) => run.ids.length < length);
      while (left() && performance.now() < pause) {
        pair.forEach((run, i) => engine.write(model, run, { ...settings[i], uniform: uniforms[i] }));
      }
      const done = !left(), texts = pair.map((run) => run.ids.slice(ids.length));
      const from = (ids.length - 1) * model.vocab;
      const logits = pair.map((run) => done ? run.logits.slice(from, from + n * model.vocab) : null);
      post({ kind: "pair", turn, texts, logits, done, ms: performance.now() - started });
      if (!done) setTimeout(() => { if (mine === job) writePair(message, mine, uniforms, started); });
    };
    // A grid, cell by cell, as many as fit into 20 ms.
    const fill = (message, cells, mine, started) => {
      const pause = performance.now() + 20, fresh = [];
      let next = {};
      while (!next.done && performance.now() < pause) {
        next = cells.next();
        if (next.value) fresh.push(next.value);
      }
      post({ kind: "cells", turn: message.turn, cells: fresh, done: next.done, ms: performance.now() - started });
      if (!next.done) setTimeout(() => { if (mine === job) fill(message, cells, mine, started); });
    };
    const ends = (run) => engine.logitsAt(model, run, run.ids.length - 1).slice();

    const write = (message, mine, uniform, left) => {
      const started = performance.now(), ids = [];
      while (left > 0 && run.ids.length < model.context && performance.now() - started < 40) {
        ids.push(engine.write(changed, run, { ...message, uniform }));
        left--;
      }
      const done = left === 0 || run.ids.length >= model.context;
      post({ kind: "wrote", turn: message.turn, ids, done, ms: performance.now() - started });
      if (done) return view(message, performance.now());
      setTimeout(() => { if (mine === job) write(message, mine, uniform, left); });
    };

    const take = {
      load: ({ weights }) => {
        model = engine.model(weights);
        const arrays = Object.entries(engine.arrays(model))
          .map(([short, { name, rows, columns }]) => ({ short, name, rows, columns }));
        post({ kind: "ready", layers: model.layers, heads: model.heads, context: model.context, arrays });
      },
      view: (message) => {
        const started = performance.now();
        prepare(message);
        view(message, started);
      },
      map: ({ layer, head }) => {
        const found = map(layer, head, run.ids.length);
        post({ kind: "map", map: found }, [found.buffer]);
      },
      write: (message) => {
        prepare(message);
        write(message, job, engine.random(message.seed), message.n);
      },
      stop: (message) => view(message, performance.now()),
      size: ({ place }) => post({ kind: "size", place, was: engine.size(model, place),
        now: engine.size(changed ?? model, place) }),
      pair: (message) => {
        pair ??= [engine.newRun(model), engine.newRun(model)];
        pair.forEach((run) => engine.read(model, run, message.ids));
        const uniforms = pair.map(() => engine.random(message.seed));
        writePair(message, job, uniforms, performance.now());
      },
      ablate: ({ ids, turn }) => {
        const started = performance.now();
        trained ??= engine.newRun(model);
        engine.read(model, trained, ids);
        post({ kind: "ends", turn, ends: [ends(trained)] });
        spare ??= engine.newRun(model);
        fill({ turn }, engine.ablations(model, ids, spare), job, started);
      },
      patch: ({ ids, other, turn }) => {
        const started = performance.now();
        const [clean, corrupt] = [ids, other].map((ids) => {
          const run = engine.newRun(model);
          engine.read(model, run, ids);
          return run;
        });
        post({ kind: "ends", turn, ends: [ends(clean), ends(corrupt)] });
        fill({ turn }, engine.patchings(model, clean, corrupt), job, started);
      },
      cancel: () => {}, // any message ends the work at hand
      check: ({ check }) => post({ kind: "checked", ...compare(engine, model, check) }),
    };
    return (message) => {
      if (message.kind !== "size") job++; // a question between two pieces ends nothing
      take[message.kind](message);
    };

    // Logits and texts against those that the package computed when the book was built.
    function compare(engine, model, { cases, texts }) {
      const started = performance.now();
      const read = (ids, switches, m = model) => {
        const run = engine.newRun(m, switches);
        engine.read(m, run, ids);
        return run;
      };
      let deviation = 0, compared = 0;
      for (const { ids, off, positions, edits = [], patches = [], rows, logits } of cases) {
        const carried = patches.map((p) => engine.patchFrom(model, read(p.ids), p.layer, p.at));
        const run = read(ids, { off, positions, patches: carried }, engine.edited(model, edits));
        const bytes = Uint8Array.from(atob(logits), (c) => c.charCodeAt(0));
        const wanted = new Float64Array(bytes.buffer);
        rows.forEach((row, i) => engine.logitsAt(model, run, row).forEach((z, j) => {
          const apart = Math.abs(z - wanted[i * model.vocab + j]);
          deviation = apart <= deviation ? deviation : apart; // NaN counts as apart
          compared++;
        }));
      }
      const equal = texts.filter((text) => {
        const run = read(text.ids), uniform = engine.random(text.seed);
        return text.written.every((id) => engine.write(model, run, { ...text, uniform }) === id);
      }).length;
      const ms = performance.now() - started;
      return { deviation, compared, cases: cases.length, equal, texts: texts.length, ms };
    }
  }

  if (typeof document === "undefined") {
    module.exports = { toBytes, toText, toLink, fromLink, serve, START };
    return;
  }

  // --- loading ---------------------------------------------------------------------------------

  if (window.mathlmLive.here) return; // a page with two views names this file twice
  window.mathlmLive.here = true;

  const { load } = window.mathlmLive; // of load.js
  const makeWorker = (take) => window.mathlmLive.makeWorker(
    `const take = (${serve})((${window.mathlmEngine})(), (m, t) => postMessage(m, t));
    onmessage = (event) => take(event.data);`,
    (post) => serve(window.mathlmEngine(), post), take);

  // --- the component ---------------------------------------------------------------------------

  const chapter = (name, text) => `<a href="${name}.html">${text}</a>`;
  const percent = (p) => (p >= 0.0995 ? Math.round(100 * p) : p >= 0.0005 ? (100 * p).toFixed(1)
    : "<\u00a00.1") + "\u00a0%";
  const power = (x) => x.toExponential(1).replace(/e.*/, (e) => ` × 10${[...String(+e.slice(1))]
    .map((c) => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("")}`);

  const textBox = (label, name = "prompt", rows = 3) => `
  <label class="live-text">${label}
    <textarea data-name="${name}" rows="${rows}" spellcheck="false" autocapitalize="off"
      autocomplete="off" autocorrect="off"></textarea></label>`;
  const bytesNote = (more = "") => `
  <p class="live-note"><span data-name="count"></span> A letter is one byte, and
    <code>\\x00</code> to <code>\\xff</code> write any byte.${more}</p>`;
  const slider = (label, name, low, high, step) => `
    <label>${label} <output data-name="${name}-value"></output>
      <input type="range" data-name="${name}" min="${low}" max="${high}" step="${step}"></label>`;
  const seedBox = `
    <label>seed <input type="number" data-name="seed" min="0" max="4294967295" step="1"></label>`;
  const barTable = `
    <table class="live-bars"><thead class="live-hidden"><tr><th>byte</th><td></td>
      <th>probability</th></tr></thead><tbody data-name="bars"></tbody></table>`;

  // The parts of the panel of the start page, and of the views "map" and "positions".
  const PARTS = {
    text: (view) => `
<div class="live-top">${textBox("Your text", "prompt", view ? 2 : 3)}
  ${bytesNote(view ? "" : ` ${chapter("08-tokenization", "Chapter 8")} is about tokens.`)}
</div>`,
    sampling: () => `
<div class="live-row">
  <button type="button" data-name="write" class="live-main">Write on</button>
  <button type="button" data-name="again">Another</button>
  ${slider("temperature", "temperature", 0, 2, 0.05)}
  ${slider("top-p", "topP", 0.05, 1, 0.05)}${seedBox}
</div>
<p class="live-output" data-name="output" aria-live="polite" hidden><span></span><b></b></p>
<p class="live-note">One seed gives one text, here and in Python.
  ${chapter("20-generation", "Chapter 20")} goes from probabilities to a text.</p>`,
    positions: () => `
<div class="live-row"><label class="live-check"><input type="checkbox" data-name="positions">
  positions: queries and keys are turned</label></div>`,
    strip: () => `
<div class="live-part">
  <h3>What it predicts after each byte</h3>
  <div class="live-strip" data-name="strip" aria-hidden="true"></div>
  <label class="live-place">position <output data-name="at-value"></output>
    <input type="range" data-name="at" min="0" max="0" step="1"></label>
  <p class="live-note">Above stand the bytes that it has read, below each the byte that it predicts to
    come next, with a bar for its probability, in color where it did come. Shaded is what the
    chosen head reads from the chosen position. <span data-name="speed"></span></p>
</div>`,
    bars: (view) => `
<div class="live-part">
  <h3>The next byte</h3>
  <p class="live-said" data-name="said"></p>${barTable}
  <p class="live-note">${view ? "" : "At the temperature and top-p above; pale is what top-p leaves out. "}
    <span data-name="marked" hidden>A line marks the probability of the ${view ? "whole model" : "model as trained"}.</span>
    ${view ? "" : `${chapter("15-transformer-forward", "Chapter 15")}: how the numbers come about.`}</p>
</div>`,
    map: () => `
<div class="live-part">
  <h3>What head <span data-name="chosen"></span> looks at</h3>
  <div class="live-map" data-name="frame"><canvas data-name="map" role="img"></canvas>
    <i data-name="line"></i></div>
  <p class="live-note">Down: the position that reads. Across: the position that is read.
    <span data-name="reads"></span></p>
</div>`,
    heads: (view) => `
<div class="live-part">
  <h3>The 16 heads</h3>
  <div class="live-heads" data-name="heads" role="group"
    aria-label="Heads, by layer; arrow keys go from one to the next"></div>
  <div class="live-row">
    ${view ? "" : `<label class="live-check"><input type="checkbox" data-name="positions">
      positions</label>`}
    <button type="button" data-name="all-on">All on</button>
  </div>
  <p class="live-note">A row is a layer. Choose a map to see it large; take the tick away, and the
    head writes nothing. ${view ? "" : `Attention is in chapters ${chapter("10-attention", "10")},
    ${chapter("11-self-attention", "11")} and ${chapter("13-multi-head-attention", "13")}, positions
    in ${chapter("14-positional-encoding", "14")}, what a part is good for in
    ${chapter("25-interpretability", "25")}. A model trained without a part does better than one
    that lost it.`}</p>
</div>`,
    foot: () => `
<div class="live-part live-foot">
  <div class="live-row">
    <button type="button" data-name="check">Check this page</button>
    <button type="button" data-name="link">Copy a link to this state</button>
    <button type="button" data-name="reset">Reset</button>
  </div>
  <p data-name="told" role="status"></p>
  <p class="live-note">${chapter("19-pretraining", "Chapter 19")} trained these 824,448 parameters on
    plays. ${chapter("20-fast-generation", "Generation, fast")} says how they are rounded to 8 bits
    and why one more letter costs one step.</p>
</div>`,
  };
  PARTS.edits = () => window.mathlmLive.edits.html;
  const LAYOUT = {
    "": ["text", "sampling", "strip", ["bars", "map", "heads"], "edits"],
    map: ["text", "strip", [["map", "bars"], "heads"]],
    positions: ["text", "positions", "strip", [["map", "bars"], "heads"]],
  };
  // A list in the layout stands side by side, and a list in that one below the other.
  const laid = (view, parts = LAYOUT[view], inside = false) => parts.map((part) => Array.isArray(part)
    ? `<div${inside ? "" : ' class="live-parts"'}>${laid(view, part, true)}</div>` : PARTS[part](view)).join("");

  // The panel, what all views share of it, and the view that the page asks for.
  function start(root, restored) {
    const name = root.dataset.view ?? "", make = LAYOUT[name] ? whole : window.mathlmLive.views[name];
    const panel = document.createElement("div");
    panel.className = "live-panel";
    const found = {}; // a search passes every cell of the strip
    const one = (name) => (found[name] ??= panel.querySelector(`[data-name="${name}"]`));
    const text = (name, value) => {
      if (one(name) && one(name).textContent !== value) one(name).textContent = value;
    };
    const on = (name, event, act) => { if (one(name)) one(name)[event] = act; };
    const first = { ...fromLink(`#live:${root.dataset.state ?? ""}`), view: name };
    const kit = {
      root, name, panel, one, text, on, first, state: { ...first, ...restored }, paint, bars,
      engine: window.mathlmEngine(), send: (message) => send(message), CONTEXT, MOST, laid, textBox,
      bytesNote, slider, seedBox, barTable, power, CHANGES, toBytes, toText, sign, spoken, percent, same,
    };
    const view = make(kit);
    panel.innerHTML = view.html + PARTS.foot();
    const take = {
      ready: (message) => {
        view.ready(message);
        view.show();
        setTimeout(() => { // a task of its own: the page is laid out in it
          root.querySelectorAll(".live-before").forEach((part) => { part.hidden = true; });
          root.append(panel);
          one("prompt").focus({ preventScroll: true });
          root.dataset.ready = "";
          setTimeout(view.begin);
        });
      },
      checked: (found) => {
        const { deviation, compared, cases, equal, texts, ms } = found;
        const good = deviation <= 1e-9 && equal === texts;
        root.dataset.checked = good ? "good" : "bad";
        root.dataset.deviation = deviation;
        text("told", `${good ? "✓" : "✗"} ${compared.toLocaleString("en-US")} logits of ${cases} runs, among ` +
          "them runs with heads off, without positions, with a patch and with changed weights, differ from those of the package by " +
          `${power(deviation)} at most (10⁻⁹ is allowed); ` +
          `${equal} of ${texts} texts, one likeliest and one sampled, have the same bytes. ` +
          `Computed here in ${(ms / 1000).toFixed(1)} seconds.`);
        view.refresh();
      },
      ...view.take,
    };
    const send = makeWorker((message) => take[message.kind](message));

    const address = (hash) => { // of this page, which the address line then shows
      const link = location.href.replace(/#.*$/, "") + hash;
      try { history.replaceState(null, "", link); } catch { /* some browsers refuse in files */ }
      return link;
    };
    one("reset").onclick = () => {
      address("");
      text("told", "");
      Object.assign(kit.state, first);
      view.reset();
    };
    one("check").onclick = () => {
      view.stop();
      text("told", "Computing …");
      load("check.js").then(() => send({ kind: "check", check: window.mathlmLive.check }),
        (error) => text("told", String(error.message)));
    };
    one("link").onclick = async () => {
      const link = address(toLink(kit.state));
      try {
        await navigator.clipboard.writeText(link);
        text("told", "The link is copied; it holds your text, the seed, every switch and changed weight.");
      } catch {
        text("told", `The link, also in the address line: ${link}`);
      }
    };
    view.wire();
    new MutationObserver(() => {
      ink = null;
      view.redraw?.();
    })
      .observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    send({ kind: "load", weights: window.mathlmLive.weights });
  }

  // A canvas of one pixel for each weight, in the color that the style gives it.
  let ink = null; // asking for it after a change makes the browser lay out the page
  function paint(canvas, width, height, shade) {
    ink ??= getComputedStyle(canvas).color.match(/[\d.]+/g).map(Number);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const image = new ImageData(width, height), { data } = image;
    for (let i = 0, at = 0; i < width * height; i++) {
      data[at++] = ink[0];
      data[at++] = ink[1];
      data[at++] = ink[2];
      data[at++] = shade(i);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  // Rows of bytes with bars: `kept` of the probabilities is what can be drawn, `mark` another model's.
  function bars(body, order, full, kept, mark) {
    while (body.childElementCount > order.length) body.lastChild.remove();
    while (body.childElementCount < order.length) {
      const row = document.createElement("tr");
      row.innerHTML = '<th scope="row"> </th><td class="wide"><span class="bar"><i></i><u></u></span></td><td> </td>';
      body.append(row);
    }
    order.forEach((id, i) => {
      const row = body.children[i], p = kept[id] || full[id], [bar, line] = row.children[1].firstChild.children;
      row.className = kept[id] ? "" : "dropped";
      row.firstChild.firstChild.data = sign(id);
      bar.style.width = `${100 * p}%`;
      line.style.left = mark ? `${100 * mark[id]}%` : "";
      line.hidden = !mark;
      row.lastChild.firstChild.data = percent(p);
    });
  }

  // The panel of the start page, and of the views that show less of the same.
  function whole(kit) {
    const { panel, one, text, on, state, engine, name } = kit;
    const edits = name ? null : window.mathlmLive.edits.make(kit, (edits) => change({ edits }));
    const intact = name ? "whole model" : "model as trained";
    let shape = null, seen = null;
    let tail = [], turn = 0, writing = false, stopping = false; // what it wrote, and whether it does
    let busy = false, wish = null, restoring = state.written > 0;
    const later = window.mathlmLive.inPieces(), row = []; // the cells of the strip, as long as the text
    const ids = () => [...state.prompt, ...tail];
    const at = () => Math.min(state.at ?? Infinity, seen.ids.length - 1);
    const request = (kind, more = {}) => kit.send({
      kind, ids: ids(), off: state.off, positions: state.positions,
      layer: state.layer, head: state.head, edits: edits ? state.edits : [], ...more,
    });

    // One request at a time: while it is answered, only the newest wish is kept.
    const refresh = () => {
      if (writing) halt();
      if (!state.prompt.length) return empty();
      if (busy) { wish = refresh; return; }
      busy = true;
      request("view");
    };
    const halt = () => {
      writing = false;
      text("write", "Write on");
    };
    const empty = () => {
      seen = null;
      later([]);
      cells(0);
      text("count", `0 of ${CONTEXT} bytes.`);
      text("said", "Type something: the model predicts the byte after each one that it has read.");
      one("bars").replaceChildren();
    };

    // --- what the worker answers

    const take = {
      view: (message) => {
        busy = false;
        const next = wish;
        wish = null;
        if (next) return next();
        if (writing || !state.prompt.length) return;
        seen = message;
        if (stopping) tail = seen.ids.slice(state.prompt.length);
        state.written = tail.length;
        stopping = false;
        draw();
      },
      map: (message) => {
        if (!seen || message.map.length !== seen.ids.length ** 2) return;
        seen.map = message.map;
        later([...strip(), drawMap]);
      },
      wrote: ({ turn: theirs, ids: fresh, done, ms }) => {
        if (!writing || theirs !== turn) return;
        tail.push(...fresh);
        text("speed", `${Math.round(1000 * fresh.length / ms)} bytes per second.`);
        append(fresh);
        if (done) halt();
        drawText();
      },
    };

    // --- drawing

    function show() { // the inputs, from the state
      one("prompt").value = toText(state.prompt);
      for (const name of ["temperature", "topP", "seed"]) if (one(name)) one(name).value = state[name];
      text("temperature-value", state.temperature.toFixed(2));
      text("topP-value", state.topP.toFixed(2));
      if (one("positions")) one("positions").checked = state.positions;
      edits?.show();
      text("chosen", `${state.layer}.${state.head}`);
      panel.querySelectorAll(".live-head").forEach((cell) => {
        const [l, h] = cell.dataset.head.split(".").map(Number);
        const off = state.off.some((pair) => same(pair, [l, h]));
        cell.classList.toggle("off", off);
        cell.querySelector("input").checked = !off;
        const chosen = l === state.layer && h === state.head;
        cell.querySelector("button").setAttribute("aria-pressed", String(chosen));
        // one stop for the keyboard: arrows go on from there
        cell.querySelectorAll("button, input").forEach((e) => { e.tabIndex = chosen ? 0 : -1; });
      });
    }

    const perByte = (bits) => (bits.slice(1).reduce((sum, b) => sum + b, 0) / Math.max(1, bits.length - 1)).toFixed(2);
    function draw() {
      const T = seen.ids.length;
      drawText();
      text("count", `${T} of ${CONTEXT} bytes.`);
      one("at").max = T - 1;
      const before = seen.trained ? ` (${perByte(seen.trained.bits)} for the ${intact})` : "";
      text("speed", (seen.trained ? `The third row is what the ${intact} predicts. ` : "") + (T > 1
        ? `Loss: ${perByte(seen.bits)} bits per byte${before}. Computed in ${seen.ms.toFixed(0)} ms.` : ""));
      one("marked").hidden = !seen.trained;
      kit.root.dataset.ms = seen.ms;
      cells(T);
      drawPlace([() => edits?.drawn(seen, perByte), drawHeads]);
    }
    function drawText() { // the text as a text, once it wrote
      const output = one("output");
      if (!output) return;
      const [before, after] = output.children;
      output.hidden = !tail.length;
      if (output.hidden) return;
      output.setAttribute("aria-busy", String(writing));
      before.textContent = toText(state.prompt);
      after.textContent = toText(tail);
    }
    // The strip has one cell for each byte, and cells are kept from one drawing to the next: only
    // what is another than before is written.
    function cells(T) {
      const fresh = document.createDocumentFragment();
      while (row.length > T) row.pop().made.remove();
      while (row.length < T) {
        row.push(cell());
        fresh.append(row[row.length - 1].made);
      }
      one("strip").append(fresh);
    }
    function cell() {
      const made = document.createElement("span");
      const [byte, guess, trained] = ["b", "i", "em"].map((tag) => {
        const part = document.createElement(tag);
        part.append("");
        made.append(part);
        return part;
      });
      return { made, byte, guess, trained, shown: [] };
    }
    const WRITE = [
      ({ byte }, x) => { byte.firstChild.data = x; },
      ({ guess }, x) => { guess.firstChild.data = x; },
      ({ trained }, x) => { trained.firstChild.data = x; },
      ({ trained }, x) => { trained.className = x; },
      ({ guess }, x) => guess.style.setProperty("--sure", x),
      ({ byte }, x) => byte.style.setProperty("--read", x),
      ({ made }, x) => { made.className = x; },
    ];
    const put = (one, ...values) => values.forEach((x, k) => {
      if (one.shown[k] !== x) WRITE[k](one, x);
      one.shown[k] = x;
    });
    const put0 = (one, id, name) => put(one, sign(id), "", "", "", "0%", "0%", name);
    function append(fresh, name = "written") { // bytes as they are written; their predictions come at the end
      const from = row.length;
      cells(from + fresh.length);
      fresh.forEach((id, i) => put(row[from + i], sign(id), "", "", "", "0%", "0%", name));
    }
    // What is drawn for one position, and then `more`. The end of the strip is drawn at once.
    function drawPlace(more = []) {
      const T = seen.ids.length, t = at(), [last, ...others] = strip();
      one("at").value = t;
      one("at").setAttribute("aria-valuetext",
        `${t} of ${T - 1}: ${spoken(seen.ids[t])}, then likeliest ${spoken(seen.guess[t])}`);
      text("at-value", `${t}`);
      one("strip").classList.toggle("third", Boolean(seen.trained));
      last();
      later([drawBars, ...others, drawMap, ...more]);
    }
    const strip = () => Array.from({ length: Math.ceil(seen.ids.length / SLICE) }, (_, k) => {
      const end = seen.ids.length - k * SLICE;
      return () => drawStrip(Math.max(0, end - SLICE), end);
    });
    function drawStrip(from, end) {
      const T = seen.ids.length, t = at(), read = seen.map.subarray(t * T, (t + 1) * T), { ids, guess, trained } = seen;
      for (let i = from; i < end; i++) {
        const name = [i === t && "here", i >= state.prompt.length && "written",
          guess[i] === ids[i + 1] && "hit", i > t && "later"].filter(Boolean).join(" ");
        put(row[i], sign(ids[i]), sign(guess[i]), trained ? sign(trained.guess[i]) : "",
          trained?.guess[i] === ids[i + 1] ? "hit" : "", `${Math.round(100 * seen.sure[i])}%`,
          `${2 * Math.round(25 * Math.sqrt(read[i]))}%`, name);
      }
    }
    const after = (run, t, topP) => engine.probabilities(run.logits.subarray(t * 256, (t + 1) * 256), state.temperature, topP);
    function drawBars() {
      const t = at(), full = after(seen, t), kept = after(seen, t, state.topP);
      const trained = seen.trained ? after(seen.trained, t) : null;
      const order = engine.ranked(trained ? full.map((p, i) => Math.max(p, trained[i])) : full).slice(0, 8);
      bars(one("bars"), order, full, kept, trained);
      const next = seen.ids[t + 1], best = engine.ranked(kept)[0];
      // those who listen hear it when they choose a position, and not while they type
      one("said").setAttribute("aria-live", document.activeElement === one("prompt") ? "off" : "polite");
      const came = next === undefined ? "" : ` What came is ${spoken(next)}, ` +
        (kept[next] ? `with ${percent(kept[next])}.` : "which top-p leaves out.");
      const before = trained ? ` The ${intact} has ${spoken(engine.ranked(trained)[0])}, with ${percent(Math.max(...trained))}.` : "";
      text("said", `After position ${t}, ${spoken(seen.ids[t])}: likeliest is ${spoken(best)}, with ` +
        `${percent(kept[best])}.${before}${came}`);
    }
    function drawMap() {
      const T = seen.ids.length, t = at(), row = seen.map.subarray(t * T, t * T + t + 1);
      paint(one("map"), T, T, (i) => 255 * Math.sqrt(seen.map[i]));
      Object.assign(one("line").style, { top: `${100 * t / T}%`, height: `${100 / T}%` });
      const most = engine.ranked(row).slice(0, 3).filter((s) => row[s] > 0.005);
      const words = most.map((s) => `${spoken(seen.ids[s])} at ${s} with ${percent(row[s])}`);
      text("reads", `From position ${t} it reads ${words.join(", ")}.`);
      one("map").setAttribute("aria-label", `Attention of head ${state.layer}.${state.head}. ${one("reads").textContent}`);
    }
    // The maps of all heads are one canvas over their buttons: each canvas costs the browser as much
    // as a large one.
    const sheet = document.createElement("canvas"), all = document.createElement("canvas");
    let places = [];
    function fit() { // when the buttons have been laid out
      const { clientWidth, clientHeight } = one("heads"), sharp = Math.min(2, devicePixelRatio);
      Object.assign(all, { width: clientWidth * sharp, height: clientHeight * sharp });
      places = [...panel.querySelectorAll(".live-head button")].map((b) =>
        [b.offsetLeft + 3, b.offsetTop + 3, b.clientWidth - 4, b.clientHeight - 4].map((x) => x * sharp));
      if (seen) drawHeads();
    }
    function drawHeads() {
      const n = seen.side, at = all.getContext("2d");
      paint(sheet, n, n * places.length, (i) => seen.small[i]);
      at.clearRect(0, 0, all.width, all.height);
      at.imageSmoothingEnabled = false;
      places.forEach((place, i) => {
        const pair = [Math.floor(i / shape.heads), i % shape.heads];
        at.globalAlpha = state.off.some((other) => same(other, pair)) ? 0.2 : 1;
        at.drawImage(sheet, 0, i * n, n, n, ...place);
      });
    }
    function makeHeads() {
      for (let l = 0; l < shape.layers; l++) {
        for (let h = 0; h < shape.heads; h++) {
          const made = document.createElement("div");
          made.className = "live-head";
          made.dataset.head = `${l}.${h}`;
          made.innerHTML = `<button type="button" aria-label="Map of head ${l}.${h}"></button>
            <label><input type="checkbox" aria-label="Head ${l}.${h} on"> ${l}.${h}</label>`;
          made.firstChild.onclick = () => choose(l, h);
          made.querySelector("input").onchange = (event) => {
            const others = state.off.filter((pair) => !same(pair, [l, h]));
            const off = event.target.checked ? others : [...others, [l, h]].sort();
            change({ off });
          };
          one("heads").append(made);
        }
      }
      all.className = "live-all";
      one("heads").append(all);
      new ResizeObserver(fit).observe(one("heads"));
      one("heads").onkeydown = (event) => {
        const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
        const move = moves[event.key];
        if (!move) return;
        event.preventDefault();
        const within = (i, n) => Math.max(0, Math.min(n - 1, i));
        const l = within(state.layer + move[0], shape.layers), h = within(state.head + move[1], shape.heads);
        choose(l, h);
        one("heads").querySelector(`[data-head="${l}.${h}"] ${event.target.localName}`).focus();
      };
    }
    function choose(layer, head) {
      change({ layer, head }, false);
      if (seen && !busy && !writing) request("map");
    }

    // --- what the reader does

    function change(part, again = true) {
      Object.assign(state, part);
      show();
      if (again) refresh();
    }
    function write() {
      if (!state.prompt.length) return;
      if (busy) { wish = write; return; }
      const n = restoring ? state.written : MOST;
      if (!restoring && state.at >= state.prompt.length) state.at = null;
      tail = [];
      restoring = false;
      writing = true;
      text("write", "Stop");
      later([]);
      cells(0);
      append(state.prompt, "");
      request("write", { n, turn: ++turn, seed: state.seed, temperature: state.temperature, topP: state.topP });
    }
    function stop() {
      if (!writing) return;
      halt();
      busy = stopping = true;
      request("stop");
    }
    const forget = () => {
      tail = [];
      state.written = 0;
    };

    function wire() {
      one("prompt").oninput = (event) => {
        const bytes = toBytes(event.target.value);
        state.prompt = bytes.slice(0, CONTEXT);
        state.at = null;
        forget();
        text("told", bytes.length > CONTEXT ? `It reads ${CONTEXT} bytes at most; the rest is left out.` : "");
        refresh();
      };
      on("write", "onclick", () => writing ? stop() : write());
      on("again", "onclick", () => {
        halt();
        change({ seed: (state.seed + 1) % 4294967296 }, false);
        write();
      });
      for (const name of ["temperature", "topP"]) {
        on(name, "oninput", (event) => {
          change({ [name]: event.target.valueAsNumber }, false);
          if (seen && !writing) drawBars();
        });
      }
      on("seed", "onchange", (event) => {
        const seed = event.target.valueAsNumber;
        if (Number.isInteger(seed) && seed >= 0 && seed < 4294967296) state.seed = seed;
        show();
      });
      one("at").oninput = (event) => {
        if (!seen) return;
        const t = event.target.valueAsNumber;
        state.at = t === seen.ids.length - 1 ? null : t;
        drawPlace();
      };
      one("strip").onclick = (event) => {
        const made = event.target.closest(".live-strip > span");
        if (!made || !seen || writing) return;
        one("at").value = row.findIndex((one) => one.made === made);
        one("at").oninput({ target: one("at") });
      };
      one("map").onclick = (event) => {
        if (!seen) return;
        const box = one("map").getBoundingClientRect();
        one("at").value = Math.floor((event.clientY - box.top) / box.height * seen.ids.length);
        one("at").oninput({ target: one("at") });
      };
      on("positions", "onchange", (event) => change({ positions: event.target.checked }));
      on("all-on", "onclick", () => change({ off: [], positions: true }));
    }
    return {
      html: laid(name), take: { ...take, ...edits?.take }, show, refresh, wire, stop,
      ready: (message) => {
        shape = message;
        edits?.ready(message);
        if (one("heads")) makeHeads();
      },
      begin: () => restoring ? write() : refresh(),
      reset: () => {
        forget();
        change({});
      },
      redraw: () => seen && later([drawMap, drawHeads]),
    };
  }

  async function wake(root, restored) {
    const button = root.querySelector(".live-start"), label = button.textContent;
    button.disabled = true;
    button.textContent = "Loading …";
    try {
      const name = root.dataset.view ?? "", more = name ? LAYOUT[name] ? [] : ["views.js"] : ["edits.js"];
      await Promise.all(["engine.js", "weights.js", ...more].map(load));
      start(root, restored);
    } catch (error) {
      button.disabled = false;
      button.textContent = `${label} (${error.message})`;
    }
  }

  const ready = () => document.querySelectorAll("[data-live]").forEach((root) => {
    const restored = fromLink(location.hash), button = root.querySelector(".live-start");
    if (!button) return;
    button.hidden = false;
    button.onclick = () => wake(root, null);
    if (restored?.view !== (root.dataset.view ?? "")) return;
    root.scrollIntoView();
    wake(root, restored);
  });
  // A link that leads from this page to itself changes the address and loads nothing.
  window.addEventListener("hashchange", () => fromLink(location.hash) && location.reload());
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", ready) : ready();
})();
