// Training in the page: components that a page holds as <section class="train" data-train="training">
// and data-train="gradients". A picture made when the book was written stands there until the
// reader opens them; then train-engine.js and train-text.js are loaded beside this file as scripts,
// which also works from a file, and everything is computed in a worker. A link holds what a
// run follows from, #train:… with size, seed, step sizes and the number of steps, or which
// gradients are shown, #gradients:….
(() => {
  "use strict";
  const RATES = [0.0006, 0.002, 0.006, 0.02, 0.06], RATE = 0.006; // step sizes
  const WORDS = "To be, or not to be, that is the question."; // of the gradients
  const AHEAD = 300; // steps of one press of the button

  // --- numbers as text -------------------------------------------------------------------------

  const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const raised = (n) => String(n).replace(/./g, (c) => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]);
  // 1.3 × 10⁻⁷, and 0.013 where that is as short.
  function number(x, digits = 3) {
    if (x === 0 || !Number.isFinite(x)) return x === 0 ? "0" : "too large";
    const size = Math.abs(x);
    const plain = x.toPrecision(digits);
    if (size >= 0.01 && size < 10 ** digits && !plain.includes("e")) return plain.replace("-", "−");
    const [front, power] = x.toExponential(digits - 1).split("e");
    return `${front.replace("-", "−")}\u00a0×\u00a010${raised(Number(power))}`;
  }
  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  // --- the link that holds a run -----------------------------------------------------------------

  const MOST = 20000; // steps
  // A run { size, seed, rates: [[from step, step size], …], steps } as #train:n=full&s=1&d=450&r=0-0.006_300-0.02
  const toLink = ({ size, seed, rates, steps }) => `#train:n=${size}&s=${seed}&d=${steps}`
    + (rates.length ? `&r=${rates.map((pair) => pair.join("-")).join("_")}` : "");
  // What a link holds; null for an address that is none, and a sentence where it holds no run.
  function fromLink(hash) {
    if (!hash.startsWith("#train:")) return null;
    const parts = Object.fromEntries(hash.slice(7).split("&").map((pair) => pair.split("=")));
    const whole = (text, most) => /^\d{1,10}$/.test(text) && Number(text) <= most ? Number(text) : NaN;
    const [seed, steps] = [whole(parts.s, 4294967295), whole(parts.d, MOST)];
    const rates = (parts.r ?? "").split("_").filter(Boolean).map((pair) => pair.split("-").map(Number));
    const good = ["full", "small"].includes(parts.n) && seed >= 0 && steps >= 0
      && rates.every(([from, rate], i) => (i ? from > rates[i - 1][0] : from === 0) && from < steps && RATES.includes(rate))
      && (steps === 0) === (rates.length === 0);
    return good ? { size: parts.n, seed, rates, steps } : "The link holds no run that this page knows.";
  }

  // What the gradients are of, { words, size, steps, at, array, index, measure }, as
  // #gradients:p=to%20be&n=full&d=50&t=2&a=blocks.1.attention.W_v.weight&i=7&m=norm
  const KEYS = { words: "p", size: "n", steps: "d", at: "t", array: "a", index: "i", measure: "m" };
  const toGradients = (state) => `#gradients:${Object.entries(KEYS).filter(([name]) => state[name] !== null)
    .map(([name, key]) => `${key}=${encodeURIComponent(state[name]).replace(/[.!~*'()]/g, (c) => c === "." ? c : `%${c.charCodeAt(0).toString(16)}`)}`).join("&")}`;
  function fromGradients(hash) {
    if (!hash.startsWith("#gradients:")) return null;
    const parts = Object.fromEntries(hash.slice(11).split("&").map((pair) => pair.split("=")));
    const whole = (text, most) => /^\d{1,7}$/.test(text ?? "") && Number(text) <= most ? Number(text) : NaN;
    const found = { size: parts.n, steps: whole(parts.d, MOST), at: parts.t === undefined ? null : whole(parts.t, 63),
      array: parts.a, index: whole(parts.i, 1e6), measure: parts.m };
    try { found.words = decodeURIComponent(parts.p); } catch { found.words = ""; }
    const good = ["full", "small"].includes(found.size) && found.steps >= 0 && (found.at === null || found.at >= 0)
      && /^[\w.]+$/.test(found.array ?? "") && found.index >= 0 && Object.keys(MEASURES).includes(found.measure)
      && found.words.length > 1 && found.words.length <= 200;
    return good ? found : "The link holds no gradients that this page knows.";
  }

  // --- drawings, as SVG in the colors of the page ------------------------------------------------

  const EDGE = { left: 60, right: 18, top: 12, bottom: 44 };
  const round = (x) => Math.round(10 * x) / 10;

  // Axes with ticks [place, label] and names, and what is drawn between them. `x` and `y` are
  // functions from a value to a place.
  function framed({ width, height, x, y, ticksX, ticksY, nameX, nameY, inside, said }) {
    const [right, bottom] = [width - EDGE.right, height - EDGE.bottom];
    const text = (at, words, more) => `<text x="${round(at[0])}" y="${round(at[1])}" ${more}>${words}</text>`;
    const across = ticksY.map(([v, label]) => `<path class="grid" d="M${EDGE.left} ${round(y(v))}H${right}"/>`
      + text([EDGE.left - 6, y(v) + 4], label, 'text-anchor="end"')).join("");
    const along = ticksX.map(([v, label]) => `<path class="tick" d="M${round(x(v))} ${bottom}v5"/>`
      + text([x(v), bottom + 18], label, 'text-anchor="middle"')).join("");
    const names = text([(EDGE.left + right) / 2, height - 6], nameX, 'text-anchor="middle"')
      + text([12, (EDGE.top + bottom) / 2], nameY,
        `text-anchor="middle" transform="rotate(-90 12 ${round((EDGE.top + bottom) / 2)})"`);
    return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(said)}" font-size="13" fill="currentColor">`
      + `<g class="frame" fill="currentColor" stroke-width="1">${across}${along}${names}`
      + `<path class="tick" d="M${EDGE.left} ${EDGE.top}V${bottom}H${right}"/></g>${inside}</svg>`;
  }
  const line = (points, name, width, more = "") => points.length < 2 ? "" :
    `<polyline class="${name}" fill="none" stroke="currentColor" stroke-width="${width}" ${more}points="${
      points.map(([px, py]) => `${round(px)},${round(py)}`).join(" ")}"/>`;
  const scale = (low, high, from, to) => (v) =>
    from + (to - from) * (Math.max(low, Math.min(high, v)) - low) / (high - low);

  // Losses [step, nats] as means of `most` pieces at most, so that a long run stays a light picture.
  function thinned(losses, most) {
    const size = Math.ceil(losses.length / most), found = [];
    for (let i = 0; i < losses.length; i += size) {
      const piece = losses.slice(i, i + size);
      found.push([0, 1].map((k) => piece.reduce((sum, point) => sum + point[k], 0) / piece.length));
    }
    return found;
  }

  // Loss curves of runs { label, losses, judged }, the last of which is the present one.
  function trainingChart({ runs, counted, width }) {
    const height = 290, now = runs[runs.length - 1];
    const longest = Math.max(AHEAD, ...runs.flatMap((run) => run.losses.slice(-1).map(([step]) => step)));
    const unit = [50, 100, 200, 500, 1000, 2000, 5000, 10000].find((u) => longest / u <= 6.5) ?? 20000;
    const end = Math.ceil(longest / unit) * unit;
    const x = scale(0, end, EDGE.left, width - EDGE.right), y = scale(1.75, 4.25, height - EDGE.bottom, EDGE.top);
    const ticksX = Array.from({ length: end / unit + 1 }, (_, i) => [i * unit, grouped(i * unit)]);
    const ticksY = [2, 2.5, 3, 3.5, 4].map((v) => [v, v.toFixed(1)]);
    const level = (nats, words) => `<path class="level" d="M${EDGE.left} ${round(y(nats))}H${width - EDGE.right}" stroke="currentColor" stroke-dasharray="2 4"/>`
      + `<text class="level-name" x="${width - EDGE.right - 4}" y="${round(y(nats) - 5)}" text-anchor="end">${words}</text>`;
    const place = ([step, nats]) => [x(step), y(nats)];
    const earlier = runs.slice(0, -1).map(({ label, judged }) => {
      const points = judged.map(place), [px, py] = points[points.length - 1] ?? [];
      return line(points, "earlier", 1.5, 'stroke-dasharray="6 3" ') + (points.length < 2 ? ""
        : `<text class="earlier-name" x="${round(px - 3)}" y="${round(py - 6)}" text-anchor="end">step size ${label}</text>`);
    }).join("");
    const dots = now.judged.map(place).map(([px, py]) => `<circle cx="${round(px)}" cy="${round(py)}" r="3"/>`).join("");
    const [step, nats] = now.judged[now.judged.length - 1] ?? [0, NaN];
    const said = `Loss by step. After ${step} steps ${nats.toFixed(2)} nats per character on held-out text; `
      + `counted letter pairs have ${counted.pairs.toFixed(2)}, letter frequencies ${counted.letters.toFixed(2)}, chance ${counted.alike.toFixed(2)}.`;
    const inside = `<g class="levels" fill="currentColor">${level(counted.alike, "all characters alike")}${
      level(counted.letters, "counted letters")}${level(counted.pairs, "counted pairs")}</g>`
      + `<g class="old" fill="currentColor">${earlier}</g>`
      + line(thinned(now.losses, 240).map(place), "batch", 1, 'opacity="0.55" ')
      + `<g class="held" fill="currentColor">${line(now.judged.map(place), "held-line", 2.5)}${dots}</g>`;
    return framed({ width, height, x, y, ticksX, ticksY, nameX: "step", nameY: "nats per character", inside, said });
  }

  // Relative error of a difference quotient by its h, on logarithmic axes.
  function probeChart({ errors, width }) {
    const height = 250, log = Math.log10;
    const x = scale(-10, 0, EDGE.left, width - EDGE.right), y = scale(-13, 1, height - EDGE.bottom, EDGE.top);
    const powers = (list) => list.map((p) => [p, `10${raised(p)}`]);
    const points = errors.map(([h, error]) => [x(log(h)), y(error > 0 ? log(error) : -13)]);
    const dots = points.map(([px, py]) => `<circle cx="${round(px)}" cy="${round(py)}" r="3.5"/>`).join("");
    const [h, least] = errors.reduce((best, pair) => pair[1] < best[1] ? pair : best);
    return framed({
      width, height, x, y, nameX: "h", nameY: "relative error",
      ticksX: powers([-10, -8, -6, -4, -2, 0]), ticksY: powers([-12, -9, -6, -3, 0]),
      inside: `<g class="held" fill="currentColor">${line(points, "held-line", 2)}${dots}</g>`,
      said: `Relative error of the central difference by h; the smallest is ${number(least, 2)} at h = ${number(h, 1)}.`,
    });
  }

  // --- arrays of the model, and a table of their gradients -----------------------------------------

  const KINDS = [
    ["attention_norm.gamma", "gains before attention"], ["attention.W_q.weight", "W<sub>q</sub>, queries"],
    ["attention.W_k.weight", "W<sub>k</sub>, keys"], ["attention.W_v.weight", "W<sub>v</sub>, values"],
    ["attention.W_o.weight", "W<sub>o</sub>, output"], ["feed_forward_norm.gamma", "gains before feed-forward"],
    ["feed_forward.W_in.weight", "W<sub>in</sub>"], ["feed_forward.W_gate.weight", "W<sub>gate</sub>"],
    ["feed_forward.W_out.weight", "W<sub>out</sub>"],
  ];
  const MEASURES = {
    norm: ["norm of the gradient", (a) => a.norm],
    entry: ["root mean square of an entry", (a) => a.norm / Math.sqrt(a.count)],
    relative: ["norm relative to the norm of the weights", (a) => a.norm / a.size],
  };

  // `arrays` has norm, size (the norm of the weights) and count of each array by its name.
  function gradientTable({ arrays, layers, measure = "norm", chosen = null, buttons = true }) {
    const of = MEASURES[measure][1], most = Math.max(...Object.values(arrays).map(of));
    const cell = (name, span = 1) => {
      const share = `<span class="bar"><i style="width:${(100 * of(arrays[name]) / most).toFixed(1)}%"></i></span>`;
      const inner = `${share}<span class="value">${number(of(arrays[name]), 2)}</span>`;
      const pressed = name === chosen;
      return `<td colspan="${span}">${buttons ? `<button type="button" data-array="${name}" aria-pressed="${pressed}">${inner}</button>`
        : `<span class="cell">${inner}</span>`}</td>`;
    };
    const row = (words, cells) => `<tr><th scope="row">${words}</th>${cells}</tr>`;
    const each = (kind) => Array.from({ length: layers }, (_, l) => cell(`blocks.${l}.${kind}`)).join("");
    const heads = Array.from({ length: layers }, (_, l) => `<th scope="col">block ${l}</th>`).join("");
    return `<table class="train-norms"><thead><tr><td></td>${heads}</tr></thead><tbody>${
      row("embedding, also the head", cell("token_embedding.weight", layers))}${
      KINDS.map(([kind, words]) => row(words, each(kind))).join("")}${
      row("gains before the head", cell("final_norm.gamma", layers))}</tbody></table>`;
  }

  // --- what runs in the worker -----------------------------------------------------------------------

  // Returns a function that takes messages; `post` sends what it finds. One step at a time, so that
  // a message that comes between two of them is heard.
  function serve(engine, text, post) {
    const EVERY = 25, SEED = 7, LENGTH = 90; // of evaluations and samples; a worker has no other
    const characters = engine.alphabet(text.training), vocab = characters.length;
    const training = engine.encode(text.training, characters), heldOut = engine.encode(text.heldOut, characters);
    let model, rate, until, later = [], quiet = false, job = 0, written = SEED;
    const sample = (seed) => engine.decode(engine.write(model, engine.encode("\n", characters), LENGTH, 0.8, seed), characters);
    const telling = (step) => [0, 50, 100, 200].includes(step) || step % 300 === 0;

    const judge = (always = false) => {
      const found = { kind: "judged", step: model.step, nats: engine.evaluate(model, heldOut) };
      if (always || telling(model.step)) found.text = sample(SEED);
      post(found);
    };
    const begun = () => post({ kind: "begun", step: model.step, seed: model.seed, parameters: model.theta.length,
      width: model.config.width, rates: model.rates });
    const paused = (done) => post({ kind: "paused", step: model.step, done, rates: model.rates });
    const step = () => {
      while (later.length && later[0][0] <= model.step) rate = later.shift()[1];
      const started = performance.now(), at = model.step, nats = engine.trainStep(model, training, rate);
      post({ kind: "step", step: at, nats, rate, ms: performance.now() - started });
      if (model.step % EVERY === 0 && !quiet) judge();
    };
    const loop = (mine) => {
      if (mine !== job) return;
      step();
      if (model.step < until) setTimeout(() => loop(mine));
      else paused(true);
    };

    // The gradients of the reader's text.
    let read = null;
    const windowOf = (words) => {
      const ids = engine.encode(words, characters).slice(0, model.config.context + 1);
      return ids.length < 2 ? null : { ids: ids.slice(0, -1), targets: ids.slice(1), B: 1 };
    };
    const part = (name) => model.gradients[name];
    const gradients = ({ words, at = null }) => {
      read = windowOf(words);
      if (!read) return post({ kind: "short" });
      read.at = at === null || at < read.ids.length ? at : null;
      const loss = engine.lossAndGradient(model, read.ids, read.targets, read.B, read.at);
      const arrays = Object.fromEntries(model.places.map(([name, rows, columns]) => [name, {
        rows, columns, count: rows * columns, norm: engine.norm(part(name)), size: engine.norm(model.weights[name]),
      }]));
      const words_ = engine.decode(read.ids, characters) + characters[read.targets[read.targets.length - 1]];
      post({ kind: "gradients", step: model.step, loss, norm: engine.norm(model.gradient), arrays, words: words_,
        at: read.at, layers: model.config.layers });
    };
    const entries = ({ name }) => post({ kind: "entries", name, values: Float64Array.from(part(name)) });
    const probe = ({ name, index }) => {
      const at = (part(name).byteOffset - model.gradient.byteOffset) / 8 + index, hand = part(name)[index];
      const hs = Array.from({ length: 19 }, (_, i) => 10 ** (-0.5 - i / 2)); // 0.3 … 3 · 10⁻¹⁰
      const tried = hs.map((h) => [h, engine.difference(model, read, at, h)]);
      post({ kind: "probed", name, index, hand, tried, weight: model.theta[at] });
    };

    const take = {
      begin: ({ size, seed }) => {
        model = engine.start({ ...engine.SIZES[size], vocab }, seed);
        written = SEED;
        begun();
      },
      judge: () => judge(true),
      run: (message) => {
        ({ rate, until, quiet = false } = message);
        later = [...message.later ?? []]; // step sizes of steps to come
        loop(job);
      },
      one: (message) => {
        ({ rate } = message);
        later = [];
        step();
        paused(false);
      },
      pause: () => paused(false),
      write: () => post({ kind: "wrote", step: model.step, text: sample(++written) }),
      save: () => post({ kind: "saved", file: engine.save(model, characters) }),
      load: ({ file }) => {
        try { model = engine.load(file, characters); } catch (error) { return post({ kind: "refused", why: error.message }); }
        begun();
        judge(true);
      },
      gradients, entries, probe,
    };
    const sizes = Object.fromEntries(Object.entries(engine.SIZES).map(([name, size]) =>
      [name, engine.start({ ...size, vocab }, 0).theta.length]));
    post({ kind: "ready", counted: engine.counted(training, heldOut, vocab), sizes });
    return (message) => {
      if (message.kind === "rate") { // a run that goes on takes its next step with it
        ({ rate } = message);
        later = [];
        return;
      }
      job++;
      take[message.kind](message);
    };
  }

  if (typeof document === "undefined") {
    module.exports = { number, thinned, trainingChart, probeChart, gradientTable, serve, toLink, fromLink, toGradients, fromGradients, WORDS, RATE, RATES, AHEAD };
    return;
  }

  // --- loading -----------------------------------------------------------------------------------------

  const { load } = window.mathlmLive; // of load.js
  const makeWorker = (take) => {
    const text = window.mathlmLive.text;
    const source = `const take = (${serve})((${window.mathlmTrainEngine})(), ${JSON.stringify(text)}, (m) => postMessage(m));
      onmessage = (event) => take(event.data);`;
    return window.mathlmLive.makeWorker(source, (post) => serve(window.mathlmTrainEngine(), text, post), take);
  };

  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const narrow = () => innerWidth < 600;

  // What both components share: parts by name, a drawing that is repeated at most ten times a
  // second (once, where motion is not wanted), and sizes that follow the page.
  function panelOf(root, html) {
    const panel = document.createElement("div");
    panel.className = "train-panel";
    panel.innerHTML = html;
    root.querySelectorAll(".train-before").forEach((part) => { part.hidden = true; });
    root.append(panel);
    const one = (name) => panel.querySelector(`[data-name="${name}"]`);
    const text = (name, words) => { if (one(name).textContent !== words) one(name).textContent = words; };
    let waiting = null;
    const soon = (draw) => {
      waiting ??= setTimeout(() => {
        waiting = null;
        requestAnimationFrame(draw);
      }, calm.matches ? 1000 : 100);
    };
    const widthOf = (name) => Math.max(280, Math.min(640, one(name).clientWidth));
    return { panel, one, text, soon, widthOf };
  }
  async function share(hash, held, text) { // a link to this page, which says what it holds
    const link = location.href.replace(/#.*$/, "") + hash;
    try { history.replaceState(null, "", link); } catch { /* some browsers refuse in files */ }
    try {
      await navigator.clipboard.writeText(link);
      text("told", `The link is copied. ${held}`);
    } catch {
      text("told", `The link, also in the address line: ${link} ${held}`);
    }
  }
  const options = (pairs, chosen) => pairs.map(([value, words]) =>
    `<option value="${value}"${value === chosen ? " selected" : ""}>${words}</option>`).join("");
  const RATE_CHOICE = `<label>step size <select data-name="rate">${options(RATES.map((r) => [r, r]), RATE)}</select></label>`;
  const sizeChoice = (sizes, chosen) => options(Object.entries(sizes).map(([name, n]) => [name, `${grouped(n)} parameters`]), chosen);

  // --- training ------------------------------------------------------------------------------------------

  const TRAINING = `
<div class="train-row">
  <button type="button" data-name="run" class="train-main">Train ${AHEAD} steps</button>
  <button type="button" data-name="one">One step</button>
  <button type="button" data-name="rewind">Rewind</button>
</div>
<div class="train-row">
  ${RATE_CHOICE}
  <label>model <select data-name="size"></select></label>
  <label>seed <input type="number" data-name="seed" min="0" max="4294967295" step="1" value="1"></label>
</div>
<p class="train-now" data-name="now">Loading …</p>
<div class="train-chart" data-name="chart"></div>
<p class="train-note">Thick: the loss on 4,096 characters of a play that it does not read, every 25 steps. Thin: the
  loss of each step on its own 512 characters. Dotted: what counting reaches on the same text. Rewinding keeps the curve, dashed,
  and goes back to the same first weights.</p>
<table class="train-samples"><caption>What it writes, always with the same random numbers</caption>
  <thead><tr><th scope="col">step</th><th scope="col">held out</th><th scope="col">text</th></tr></thead>
  <tbody data-name="samples"></tbody></table>
<div class="train-row">
  <button type="button" data-name="write">Write another</button>
  <button type="button" data-name="link">Copy a link to this run</button>
  <button type="button" data-name="save">Save</button>
  <label class="train-file">Load<input type="file" data-name="load" accept=".json,application/json"></label>
</div>
<p class="train-told" data-name="told" role="status" aria-live="polite"></p>`;

  function startTraining(root, restored) {
    const { one, text, soon, widthOf } = panelOf(root, TRAINING);
    let again = restored?.steps ? restored : null, rates = []; // a run of a link, and the step sizes so far
    let counted, runs = [], running = false, at = 0, parameters = 0, pace = [], keep = false;
    const now = () => runs[runs.length - 1];
    const rate = () => Number(one("rate").value);
    const draw = () => {
      one("chart").innerHTML = trainingChart({ runs, counted, width: widthOf("chart") });
      const last = now().losses[now().losses.length - 1], ms = pace.reduce((a, b) => a + b, 0) / pace.length;
      text("now", `Step ${grouped(at)}${last ? `, loss of the last step ${last[1].toFixed(2)}` : ""}${
        pace.length ? `, ${Math.round(ms)} ms per step` : ""}.`);
    };
    const show = () => {
      const left = AHEAD - at % AHEAD;
      text("run", running ? "Pause" : `Train ${left} steps`);
      for (const name of ["one", "write", "save", "link"]) one(name).disabled = running;
      root.dataset.step = at;
      root.dataset.running = running;
    };
    const row = (step, nats, words) => {
      const made = document.createElement("tr");
      for (const content of [grouped(step), nats === null ? "" : nats.toFixed(2), words.trim()]) made.insertCell().textContent = content;
      one("samples").append(made);
      while (one("samples").rows.length > 8) one("samples").rows[1].remove(); // the first stays
    };
    const send = makeWorker((message) => {
      heard[message.kind](message);
    });
    const heard = {
      ready: (message) => {
        counted = message.counted;
        one("size").innerHTML = sizeChoice(message.sizes, restored?.size ?? (narrow() ? "small" : "full"));
        if (restored) one("seed").value = restored.seed;
        begin();
      },
      begun: (message) => {
        ({ step: at, rates } = message);
        parameters = message.parameters;
        running = false;
        pace = [];
        runs = [...(keep ? runs : []).filter((run) => run.judged.length > 1).slice(-3), { label: "", rates: [], losses: [], judged: [] }];
        keep = false;
        one("samples").replaceChildren();
        one("size").value = message.width === 16 ? "small" : "full";
        one("seed").value = message.seed;
        if (again) repeat();
        show();
      },
      step: ({ step, nats, rate: size, ms }) => {
        at = step + 1;
        if (again) one("rate").value = size;
        now().losses.push([step, nats]);
        pace = [...pace, ms].slice(-20);
        if (now().rates[now().rates.length - 1] !== size) now().rates.push(size);
        now().label = now().rates.join(", ");
        soon(draw);
        if (pace.length === 20 && Math.min(...pace) > 250 && parameters > 20000) {
          text("told", "A step takes long on this device: the small model is seven times faster.");
        }
      },
      judged: ({ step, nats, text: words }) => {
        at = step;
        now().judged.push([step, nats]);
        root.dataset.heldOut = nats;
        if (words !== undefined) {
          row(step, nats, words);
          if (step) text("told", `After ${step} steps: ${nats.toFixed(2)} nats per character on held-out text.`);
        }
        soon(draw);
      },
      paused: (message) => {
        ({ step: at, rates } = message);
        running = false;
        const shown = one("samples").rows[one("samples").rows.length - 1]?.cells[0].textContent === grouped(at);
        if (again && message.done && !shown) send({ kind: "judge" });
        again = null;
        show();
        soon(draw);
      },
      wrote: ({ step, text: words }) => row(step, null, words),
      saved: ({ file }) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([JSON.stringify(file)], { type: "application/json" }));
        link.download = `mathlm-step-${file.step}.json`;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
        text("told", `Saved: weights and AdamW's averages after ${file.step} steps, as JSON.`);
      },
      refused: ({ why }) => text("told", why),
    };
    const begin = () => {
      const seed = one("seed").valueAsNumber;
      if (!(Number.isInteger(seed) && seed >= 0 && seed < 4294967296)) one("seed").value = 1;
      send({ kind: "begin", size: one("size").value, seed: one("seed").valueAsNumber });
      send({ kind: "judge" });
    };
    const repeat = () => { // what the link holds
      running = true;
      text("told", `Taking the ${grouped(again.steps)} steps of the link …`);
      send({ kind: "run", rate: again.rates[0][1], later: again.rates.slice(1), until: again.steps });
    };
    one("run").onclick = () => {
      if (running) return send({ kind: "pause" });
      running = true;
      show();
      send({ kind: "run", rate: rate(), until: at + AHEAD - at % AHEAD });
    };
    one("one").onclick = () => send({ kind: "one", rate: rate() });
    one("rewind").onclick = () => {
      keep = true;
      text("told", "Back at the same first weights.");
      begin();
    };
    one("rate").onchange = () => send({ kind: "rate", rate: rate() });
    for (const name of ["size", "seed"]) one(name).onchange = () => {
      text("told", "");
      begin();
    };
    one("write").onclick = () => send({ kind: "write" });
    one("link").onclick = async () => {
      if (!rates) return text("told", "The file does not say with which step sizes it was trained: no link can hold its run.");
      const run = { size: one("size").value, seed: one("seed").valueAsNumber, rates, steps: at };
      const held = `It holds the model's size, seed and step sizes, and that there were ${grouped(at)} steps.`;
      await share(toLink(run), held, text);
    };
    one("save").onclick = () => send({ kind: "save" });
    one("load").onchange = async (event) => {
      const [file] = event.target.files;
      if (!file) return;
      try {
        send({ kind: "load", file: JSON.parse(await file.text()) });
        text("told", `Loaded ${file.name}.`);
      } catch {
        text("told", "This file is no JSON.");
      }
      event.target.value = "";
    };
    new ResizeObserver(() => counted && runs.length && soon(draw)).observe(one("chart"));
  }

  // --- gradients -------------------------------------------------------------------------------------------

  const GRADIENTS = `
<label class="train-text">Your text
  <textarea data-name="words" rows="2" spellcheck="false" autocapitalize="off" autocomplete="off">${WORDS}</textarea></label>
<p class="train-note">The model reads up to 65 characters of those that it knows and predicts each from those before it.</p>
<div class="train-row">
  <button type="button" data-name="run" class="train-main">Train 50 steps</button>
  <button type="button" data-name="rewind">Rewind</button>
</div>
<div class="train-row">
  <label>loss <select data-name="at"></select></label>
  <label>bars <select data-name="measure">${options(Object.entries(MEASURES).map(([k, [words]]) => [k, words]), "norm")}</select></label>
  <label>model <select data-name="size"></select></label>
</div>
<p class="train-now" data-name="now">Loading …</p>
<div data-name="norms"></div>
<div class="train-parts">
  <div class="train-part">
    <p class="train-head">Entries of <span data-name="chosen"></span></p>
    <div class="train-map"><canvas data-name="map" role="img"></canvas><i data-name="mark"></i></div>
    <p class="train-note">The stronger the color, the larger the gradient. Choose an array in the table above, and an entry in the map or here:</p>
    <div class="train-row">
      <label>row <input type="number" data-name="row" min="0" step="1" value="0"></label>
      <label>column <input type="number" data-name="column" min="0" step="1" value="0"></label>
      <button type="button" data-name="largest">Largest</button>
      <button type="button" data-name="other">Another</button>
    </div>
  </div>
  <div class="train-part">
    <p class="train-head">Is it right? Differences of the loss</p>
    <p data-name="probed"></p>
    <div class="train-chart" data-name="chart"></div>
  </div>
</div>
<div class="train-row"><button type="button" data-name="link">Copy a link to this gradient</button></div>
<p class="train-told" data-name="told" role="status" aria-live="polite"></p>`;

  function startGradients(root, restored) {
    const { panel, one, text, soon, widthOf } = panelOf(root, GRADIENTS);
    let seen = null, chosen = restored?.array ?? "blocks.1.attention.W_v.weight", values = null, index = 0, tried = null, running = false, step = 0;
    let later = null, at = restored?.at ?? null, wanted = restored?.index ?? null; // wanted: the entry of a link
    const place = () => seen.arrays[chosen];
    const nameOf = (name) => name.replace(/\.weight$/, "");
    const send = makeWorker((message) => heard[message.kind](message));
    const ask = () => send({ kind: "gradients", words: one("words").value, at });
    const train = (until) => {
      running = true;
      text("run", "Pause");
      send({ kind: "run", rate: RATE, until, quiet: true });
    };
    const begin = () => {
      send({ kind: "begin", size: one("size").value, seed: 1 });
      if (!restored?.steps) ask(); // else when the steps of the link are taken
    };
    // Of which prediction the loss is: all, or the one after a position.
    const drawPositions = ({ words }) => {
      const letters = [...words], shown = (c) => c === " " ? "␣" : c === "\n" ? "⏎" : escaped(c);
      one("at").innerHTML = options([["", "mean over all characters"], ...letters.slice(1).map((c, t) =>
        [t, `only of ${shown(c)} after position ${t}, ${shown(letters[t])}`])], at ?? "");
    };
    const drawTable = () => {
      const had = panel.contains(document.activeElement) && document.activeElement.dataset.array;
      one("norms").innerHTML = gradientTable({ ...seen, measure: one("measure").value, chosen });
      if (had) one("norms").querySelector(`[data-array="${had}"]`)?.focus();
    };
    const drawMap = () => {
      const { rows, columns } = place(), canvas = one("map");
      const probe = document.createElement("i");
      probe.style.color = "var(--train-ink)";
      panel.append(probe);
      const [r, g, b] = getComputedStyle(probe).color.match(/\d+/g).map(Number);
      probe.remove();
      Object.assign(canvas, { width: columns, height: rows });
      canvas.parentNode.style.aspectRatio = `${columns} / ${Math.max(rows, columns / 12)}`;
      const image = new ImageData(columns, rows), most = values.reduce((m, v) => Math.max(m, Math.abs(v)), 1e-300);
      values.forEach((v, i) => image.data.set([r, g, b, 255 * Math.sqrt(Math.abs(v) / most)], 4 * i));
      canvas.getContext("2d").putImageData(image, 0, 0);
      canvas.setAttribute("aria-label", `Gradient of ${nameOf(chosen)}, ${rows} by ${columns} entries; the largest is ${number(most)}.`);
    };
    const choose = (i) => {
      const { rows, columns } = place();
      index = Math.max(0, Math.min(rows * columns - 1, i));
      Object.assign(one("row"), { value: Math.floor(index / columns), max: rows - 1 });
      Object.assign(one("column"), { value: index % columns, max: columns - 1 });
      Object.assign(one("mark").style, { top: `${100 * Math.floor(index / columns) / rows}%`, height: `${100 / rows}%`,
        left: `${100 * (index % columns) / columns}%`, width: `${100 / columns}%` });
      clearTimeout(later);
      later = setTimeout(() => !running && send({ kind: "probe", name: chosen, index }), 60);
    };
    const largest = () => values.reduce((best, v, i) => Math.abs(v) > Math.abs(values[best]) ? i : best, 0);
    const heard = {
      ready: ({ sizes }) => {
        one("size").innerHTML = sizeChoice(sizes, restored?.size ?? (narrow() ? "small" : "full"));
        if (restored) {
          one("words").value = restored.words;
          one("measure").value = restored.measure;
        }
        begin();
      },
      begun: (message) => {
        step = message.step;
        running = false;
        text("run", "Train 50 steps");
        const { steps = 0 } = restored ?? {};
        restored = null;
        if (steps) train(steps);
      },
      step: (message) => {
        step = message.step + 1;
        if (step % 5 === 0) text("now", `Step ${step} …`);
      },
      judged: () => {},
      paused: () => {
        running = false;
        text("run", "Train 50 steps");
        text("told", `Trained for ${step} steps.`);
        ask();
      },
      short: () => text("now", "The text is too short: two characters at least."),
      gradients: (message) => {
        seen = message;
        root.dataset.step = seen.step;
        at = seen.at;
        if (!seen.arrays[chosen]) { // of a link
          text("told", `The model has no array ${chosen}.`);
          chosen = Object.keys(seen.arrays)[0];
        }
        drawPositions(seen);
        text("now", `${seen.step ? `After ${seen.step} steps of training` : "At its start"} the model pays ${seen.loss.toFixed(2)} nats ${
          at === null ? "per character for" : `for the character after position ${at} of`} “${seen.words.trim()}”. The norm of the whole gradient is ${number(seen.norm)}.`);
        drawTable();
        text("chosen", nameOf(chosen));
        send({ kind: "entries", name: chosen });
      },
      entries: (message) => {
        const fresh = !values || message.name !== values.name;
        values = message.values;
        values.name = message.name;
        drawMap();
        choose(wanted ?? (fresh ? largest() : index));
        wanted = null;
      },
      probed: ({ hand, tried: found }) => {
        tried = found.map(([h, d]) => [h, Math.abs(d - hand) / Math.max(Math.abs(hand), 1e-300)]);
        const d = found[9][1]; // of h = 10⁻⁵
        const error = Math.abs(d - hand) / Math.max(Math.abs(hand), 1e-300);
        root.dataset.error = error;
        one("probed").innerHTML = `By the backward pass <b>${number(hand, 8)}</b>.<br>By (ℓ(w + h) − ℓ(w − h)) / 2h with h\u00a0=\u00a010⁻⁵: <b>${number(d, 8)}</b>.<br>Relative error ${hand === 0 ? "not defined" : number(error, 2)}.`;
        drawProbe();
      },
    };
    const drawProbe = () => { one("chart").innerHTML = probeChart({ errors: tried, width: widthOf("chart") }); };
    let typing = null;
    one("words").oninput = () => {
      clearTimeout(typing);
      typing = setTimeout(() => !running && ask(), 120);
    };
    one("run").onclick = () => {
      if (running) return send({ kind: "pause" });
      train(step + 50);
    };
    one("at").onchange = (event) => {
      at = event.target.value === "" ? null : Number(event.target.value);
      if (!running) ask();
    };
    one("link").onclick = async () => {
      if (!seen || running) return;
      const state = { words: seen.words, size: one("size").value, steps: step, at, array: chosen, index, measure: one("measure").value };
      await share(toGradients(state), "It holds the text, the model and its steps, the array and the entry.", text);
    };
    one("rewind").onclick = begin;
    one("size").onchange = begin;
    one("measure").onchange = () => seen && drawTable();
    one("norms").onclick = (event) => {
      const button = event.target.closest("[data-array]");
      if (!button || running) return;
      chosen = button.dataset.array;
      text("chosen", nameOf(chosen));
      drawTable();
      one("norms").querySelector(`[data-array="${chosen}"]`).focus();
      send({ kind: "entries", name: chosen });
    };
    one("map").onclick = (event) => {
      if (running) return;
      const box = one("map").getBoundingClientRect(), { rows, columns } = place();
      choose(Math.floor((event.clientY - box.top) / box.height * rows) * columns
        + Math.min(columns - 1, Math.floor((event.clientX - box.left) / box.width * columns)));
    };
    for (const name of ["row", "column"]) one(name).onchange = () => {
      const { rows, columns } = place(), within = (n, most) => Math.max(0, Math.min(most - 1, Math.round(n) || 0));
      choose(within(one("row").valueAsNumber, rows) * columns + within(one("column").valueAsNumber, columns));
    };
    one("largest").onclick = () => values && choose(largest());
    one("other").onclick = () => values && choose((index + 997) % values.length);
    new ResizeObserver(() => tried && soon(drawProbe)).observe(one("chart"));
    new MutationObserver(() => values && drawMap())
      .observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  }

  // --- waking -------------------------------------------------------------------------------------------------

  async function wake(root, button, restored = null) {
    const label = button.textContent;
    button.disabled = true;
    button.textContent = "Loading …";
    try {
      await Promise.all([load("train-engine.js"), load("train-text.js")]);
      (root.dataset.train === "gradients" ? startGradients : startTraining)(root, restored?.size ? restored : null);
      if (typeof restored === "string") root.querySelector("[data-name=told]").textContent = restored;
      root.querySelector(".train-panel .train-main").focus({ preventScroll: true });
    } catch (error) {
      button.disabled = false;
      button.textContent = `${label} (${error.message})`;
    }
  }
  const ready = () => document.querySelectorAll("[data-train]").forEach((root) => {
    const button = root.querySelector(".train-start");
    button.hidden = false;
    button.onclick = () => wake(root, button);
    const restored = (root.dataset.train === "gradients" ? fromGradients : fromLink)(location.hash);
    if (!restored) return;
    root.scrollIntoView();
    wake(root, button, restored);
  });
  // A link that leads from this page to itself changes the address and loads nothing.
  window.addEventListener("hashchange", () => /^#(train|gradients):/.test(location.hash) && location.reload());
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", ready) : ready();
})();
