// Views of the live model that chapters hold: two texts from the same random numbers ("sampling"),
// each head off in turn ("ablation"), and vectors carried from one prompt into another ("patching").
// live.js loads this file where a page asks for one of them; `kit` is what it shares with them.
(() => {
  "use strict";
  const views = ((window.mathlmLive ??= {}).views = {});
  const WRITTEN = 120; // bytes of each text in "sampling"

  // --- what the grids share ----------------------------------------------------------------------

  // The last work that was asked for: `start` sends it after a pause in typing, and what older work
  // still sends is told by its turn.
  function work(kit, { pause = 0 } = {}) {
    let turn = 0, timer, running = false;
    return {
      start: (message) => {
        clearTimeout(timer);
        turn++;
        running = true;
        timer = setTimeout(() => kit.send({ ...message, turn }), pause);
      },
      stop: () => {
        clearTimeout(timer);
        if (running) kit.send({ kind: "cancel" });
        turn++;
        running = false;
      },
      isNew: (message) => message.turn === turn,
      done: () => { running = false; },
      running: () => running,
    };
  }

  // A prompt that the reader types into one of the boxes.
  function typed({ one, text, toBytes }, name, most, take) {
    one(name).oninput = (event) => {
      const bytes = toBytes(event.target.value);
      text("told", bytes.length > most ? `It reads ${most} bytes at most here; the rest is left out.` : "");
      take(bytes.slice(0, most));
    };
  }

  // A choice of bytes, likeliest first, each with its probability.
  function options({ sign, percent, engine }, select, p, chosen) {
    const ids = engine.ranked(p).slice(0, 12);
    if (!ids.includes(chosen)) ids.push(chosen);
    select.replaceChildren(...ids.map((id) => new Option(`${sign(id)}  ${percent(p[id])}`, id, false, id === chosen)));
  }

  // A table of buttons with one stop for the keyboard; arrows go from cell to cell. `columns` and
  // `rows` are headings, and choose(row, column) is called when the reader chooses a cell.
  function grid(table, columns, rows, choose) {
    const head = `<thead><tr><td></td>${columns.map((c) => `<th scope="col">${c}</th>`).join("")}</tr></thead>`;
    table.innerHTML = head + `<tbody>${rows.map((row) => `<tr><th scope="row">${row}</th>${
      columns.map(() => '<td><button type="button" tabindex="-1">&nbsp;</button></td>').join("")}</tr>`).join("")}</tbody>`;
    const cells = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("button")]);
    cells.forEach((row, i) => row.forEach((cell, j) => { cell.onclick = () => choose(i, j); }));
    table.onkeydown = (event) => {
      const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const move = moves[event.key], i = cells.findIndex((row) => row.includes(event.target));
      if (!move || i < 0) return;
      event.preventDefault();
      const within = (x, n) => Math.max(0, Math.min(n - 1, x));
      const to = [within(i + move[0], rows.length), within(cells[i].indexOf(event.target) + move[1], columns.length)];
      choose(...to);
      cells[to[0]][to[1]].focus();
    };
    return {
      // strength: 1 has the full color, and so has what is above; `against` has the other color
      set: (i, j, words, strength, against, label) => {
        const cell = cells[i][j];
        cell.textContent = words;
        cell.setAttribute("aria-label", label);
        cell.classList.toggle("against", against);
        cell.style.setProperty("--strength", `${Math.round(45 * Math.min(1, Math.abs(strength)))}%`);
      },
      choose: (i, j) => cells.forEach((row, a) => row.forEach((cell, b) => {
        const chosen = a === i && b === j;
        cell.tabIndex = chosen ? 0 : -1;
        cell.setAttribute("aria-pressed", String(chosen));
      })),
    };
  }
  const signed = (x, digits) => x.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
  const gridBox = (label) => `
    <div class="live-scroll"><table class="live-grid" data-name="grid" aria-label="${label}"></table></div>`;
  const progress = `
    <p class="live-note" data-name="progress"></p>`;

  // --- sampling: two settings, one seed --------------------------------------------------------------

  views.sampling = (kit) => {
    const { one, text, state, engine, toText, sign, spoken } = kit;
    const task = work(kit);
    let found = null; // texts, and logits when both are whole
    const settings = () => [
      { temperature: state.temperature, topP: state.topP },
      { temperature: state.temperature2, topP: state.topP2 },
    ];
    const setting = (label, t, k, output) => `
<div class="live-part">
  <h3>${label}</h3>
  <div class="live-row">${kit.slider("temperature", t, 0, 2, 0.05)}${kit.slider("top-p", k, 0.05, 1, 0.05)}</div>
  <p class="live-output" data-name="${output}"></p>
</div>`;
    const html = `
<div class="live-top">${kit.textBox("Your text", "prompt", 2)}${kit.bytesNote()}
  <div class="live-row">${kit.seedBox}
    <button type="button" data-name="again" class="live-main">Another seed</button></div>
</div>
<div class="live-parts">
  ${setting("First setting", "temperature", "topP", "text0")}
  ${setting("Second setting", "temperature2", "topP2", "text1")}
</div>
<div class="live-part">
  <h3>One draw</h3>
  <label class="live-place">byte <output data-name="at-value"></output> of the text
    <input type="range" data-name="at" min="0" max="${WRITTEN - 1}" step="1"></label>
  <div class="live-draw"><div class="live-pieces" data-name="pieces0" aria-hidden="true"></div>
    <div class="live-pieces" data-name="pieces1" aria-hidden="true"></div>
    <i data-name="needle"></i></div>
  <p class="live-said" data-name="said"></p>
  <p class="live-note">Each strip is the interval from 0 to 1, first setting above, cut into one piece for
    each byte that can be drawn. The line is the random number, the same for both.
    <span data-name="speed"></span></p>
</div>`;
    const refresh = () => {
      found = null;
      text("count", `${state.prompt.length} of ${kit.CONTEXT - WRITTEN} bytes.`);
      if (!state.prompt.length) {
        for (const name of ["text0", "text1", "pieces0", "pieces1"]) one(name).replaceChildren();
        text("said", "");
        return task.stop();
      }
      task.start({ kind: "pair", ids: state.prompt, n: WRITTEN, seed: state.seed, settings: settings() });
    };
    const differ = ([a, b]) => a.findIndex((id, i) => id !== b[i]); // -1: nowhere
    const at = () => state.at ?? Math.max(0, differ(found.texts));
    const uniform = (n) => {
      const next = engine.random(state.seed);
      for (let i = 0; i < n; i++) next();
      return next();
    };
    function drawTexts() {
      const apart = differ(found.texts), here = found.logits[0] ? at() : -1;
      found.texts.forEach((ids, i) => {
        const cuts = [...new Set([0, apart < 0 ? ids.length : apart, here, here + 1, ids.length])];
        const marks = cuts.filter((c) => c >= 0 && c <= ids.length).sort((a, b) => a - b);
        const pieces = marks.slice(1).map((end, j) => {
          const piece = document.createElement(marks[j] === here ? "mark" : "b");
          if (apart >= 0 && marks[j] >= apart) piece.className = "apart";
          piece.textContent = toText(ids.slice(marks[j], end));
          return piece;
        });
        const before = document.createElement("span");
        before.textContent = toText(state.prompt);
        one(`text${i}`).replaceChildren(before, ...pieces);
      });
    }
    // The interval from 0 to 1, in the order of the bytes, as the draw has it.
    function pieces(box, p) {
      const spans = [];
      let rest = 0;
      const add = (share, name, id) => {
        const made = document.createElement("span");
        made.style.width = `${100 * share}%`;
        made.textContent = name;
        if (id % 2) made.className = "odd"; // the same byte looks alike in both strips
        spans.push(made);
      };
      p.forEach((share, id) => {
        if (share < 0.004) { rest += share; return; } // thin ones together
        if (rest > 0) add(rest, "", 0);
        rest = 0;
        add(share, share > 0.035 ? sign(id) : "", id);
      });
      if (rest > 0) add(rest, "", 0);
      box.replaceChildren(...spans);
    }
    function drawDraw() {
      const n = at(), u = uniform(n), [first, second] = found.texts;
      one("at").value = n;
      text("at-value", `${n + 1}`);
      const words = found.texts.map((ids, i) => {
        const { temperature, topP } = settings()[i];
        const p = engine.probabilities(found.logits[i].subarray(n * 256, (n + 1) * 256), temperature, topP);
        pieces(one(`pieces${i}`), p);
        const low = p.slice(0, ids[n]).reduce((sum, x) => sum + x, 0);
        return `${spoken(ids[n])} has ${low.toFixed(3)} to ${(low + p[ids[n]]).toFixed(3)}`;
      });
      one("needle").style.left = `${100 * u}%`;
      one("said").setAttribute("aria-live", document.activeElement === one("prompt") ? "off" : "polite");
      const same = first.slice(0, n).every((id, i) => id === second[i]);
      text("said", `The random number is ${u.toFixed(3)}. In the first text ${words[0]}; in the second ${words[1]}. ` +
        (same ? "Up to here both texts are the same." : "The texts before it are no longer the same."));
      one("at").setAttribute("aria-valuetext", `${n + 1}: ${one("said").textContent}`);
    }
    function show() {
      one("prompt").value = toText(state.prompt);
      for (const name of ["temperature", "topP", "temperature2", "topP2"]) {
        one(name).value = state[name];
        text(`${name}-value`, state[name].toFixed(2));
      }
      one("seed").value = state.seed;
    }
    const again = (part) => {
      Object.assign(state, { at: null }, part);
      show();
      refresh();
    };
    return {
      html, show, refresh, begin: refresh, ready: () => {}, reset: () => again({ at: kit.first.at }),
      stop: () => task.stop(),
      take: {
        pair: (message) => {
          if (!task.isNew(message)) return;
          found = message;
          if (message.done) task.done();
          drawTexts();
          if (!message.done) return;
          const apart = differ(found.texts);
          text("speed", (apart < 0 ? `All ${WRITTEN} bytes are the same. ` : `The texts part at byte ${apart + 1}. `) +
            `Both were written in ${message.ms.toFixed(0)} ms.`);
          kit.root.dataset.ms = message.ms;
          drawDraw();
        },
      },
      wire: () => {
        typed(kit, "prompt", kit.CONTEXT - WRITTEN, (prompt) => {
          Object.assign(state, { prompt, at: null });
          refresh();
        });
        for (const name of ["temperature", "topP", "temperature2", "topP2"]) {
          one(name).oninput = (event) => again({ [name]: event.target.valueAsNumber });
        }
        one("again").onclick = () => again({ seed: (state.seed + 1) % 4294967296 });
        one("seed").onchange = (event) => {
          const seed = event.target.valueAsNumber;
          Number.isInteger(seed) && seed >= 0 && seed < 4294967296 ? again({ seed }) : show();
        };
        one("at").oninput = (event) => {
          if (!found?.logits[0]) return;
          state.at = event.target.valueAsNumber;
          drawTexts();
          drawDraw();
        };
      },
    };
  };

  // --- ablation: each head off in turn -----------------------------------------------------------------

  views.ablation = (kit) => {
    const { one, text, state, engine, sign, spoken, percent } = kit;
    const task = work(kit, { pause: 15 });
    const MOST = 128;
    let intact = null, table = null, found = new Map();
    const html = `
<div class="live-top">${kit.textBox("Your text", "prompt", 2)}${kit.bytesNote()}
  <div class="live-row"><label>next byte <select data-name="byte"></select></label>
    <button type="button" data-name="stop">Stop</button></div>
</div>
<div class="live-parts">
  <div class="live-part">
    <h3>Its probability without each head</h3>
    ${gridBox("Probability of the chosen byte with one head off, by layer and head; arrow keys go from one to the next")}
    ${progress}
    <p class="live-note">Blue: the byte becomes less probable without the head; orange: more. Full
      color is a change of one nat.</p>
  </div>
  <div class="live-part">
    <h3>Without head <span data-name="chosen"></span></h3>
    <p class="live-said" data-name="said"></p>${kit.barTable}
    <p class="live-note">A line marks the probability of the whole model.</p>
  </div>
</div>`;
    const p = (logits) => engine.probabilities(logits, 1);
    const byte = () => state.byte ?? engine.ranked(intact)[0];
    const refresh = () => {
      found = new Map();
      text("count", `${state.prompt.length} of ${MOST} bytes.`);
      if (!state.prompt.length) return task.stop();
      task.start({ kind: "ablate", ids: state.prompt });
      drawProgress();
    };
    const drawProgress = () => {
      one("stop").textContent = task.running() || found.size === 16 ? "Stop" : "Start again";
      one("stop").disabled = found.size === 16;
      text("progress", `${found.size} of 16 heads. All on: ${intact ? percent(intact[byte()]) : ""}.`);
    };
    function drawCell(key) {
      const [l, h] = key.split(".").map(Number), without = found.get(key)[byte()], whole = intact[byte()];
      const nats = Math.log(without / whole);
      table.set(l, h, percent(without), nats, nats > 0, `Without head ${key}: ${percent(without)}`);
    }
    function drawChosen() {
      const key = `${state.layer}.${state.head}`, without = found.get(key);
      table.choose(state.layer, state.head);
      text("chosen", key);
      if (!without) return;
      const id = byte(), nats = Math.log(without[id] / intact[id]);
      const order = engine.ranked(without.map((x, i) => Math.max(x, intact[i]))).slice(0, 6);
      kit.bars(one("bars"), order, without, without, intact);
      one("said").setAttribute("aria-live", document.activeElement === one("prompt") ? "off" : "polite");
      text("said", `The probability of ${spoken(id)} goes from ${percent(intact[id])} to ${percent(without[id])}, ` +
        `its logarithm by ${nats > 0 ? "+" : ""}${signed(nats, 2)} nats. Likeliest is ${spoken(engine.ranked(without)[0])}.`);
    }
    function drawAll() {
      if (!intact) return;
      options(kit, one("byte"), intact, byte());
      [...found.keys()].forEach(drawCell);
      drawProgress();
      drawChosen();
    }
    function show() {
      one("prompt").value = kit.toText(state.prompt);
      table.choose(state.layer, state.head);
    }
    return {
      html, show, refresh, begin: refresh,
      reset: () => { show(); refresh(); },
      stop: () => { task.stop(); drawProgress(); },
      ready: ({ layers, heads }) => {
        const numbers = (n) => Array.from({ length: n }, (_, i) => i);
        table = grid(one("grid"), numbers(heads).map((h) => `head ${h}`), numbers(layers).map((l) => `layer ${l}`),
          (layer, head) => { Object.assign(state, { layer, head }); drawChosen(); });
      },
      take: {
        ends: (message) => {
          if (!task.isNew(message)) return;
          intact = p(message.ends[0]);
          options(kit, one("byte"), intact, byte());
          text("said", "");
        },
        cells: (message) => {
          if (!task.isNew(message)) return;
          if (message.done) task.done();
          for (const { layer, head, logits } of message.cells) {
            found.set(`${layer}.${head}`, p(logits));
            drawCell(`${layer}.${head}`);
          }
          kit.root.dataset.ms = message.ms;
          drawProgress();
          if (message.cells.some((c) => c.layer === state.layer && c.head === state.head)) drawChosen();
          kit.root.dataset.done = message.done ? found.size : "";
        },
      },
      wire: () => {
        typed(kit, "prompt", MOST, (prompt) => {
          Object.assign(state, { prompt, byte: null });
          refresh();
        });
        one("byte").onchange = (event) => {
          state.byte = Number(event.target.value);
          drawAll();
        };
        one("stop").onclick = () => {
          if (!task.running()) return refresh();
          task.stop();
          drawProgress();
        };
      },
    };
  };

  // --- patching: the residual stream of one prompt in the run of another ---------------------------------

  views.patching = (kit) => {
    const { one, text, state, engine, sign, spoken, percent, toText } = kit;
    const task = work(kit, { pause: 15 });
    const MOST = 64;
    let ends = null, table = null, first = 0, rows = "", found = new Map();
    const html = `
<div class="live-top">${kit.textBox("Clean prompt", "prompt", 1)}${kit.textBox("Corrupt prompt", "other", 1)}
  ${kit.bytesNote(" Both need the same number of bytes.")}
  <div class="live-row">
    <label>answer to the clean one <select data-name="byte"></select></label>
    <label>to the corrupt one <select data-name="byte2"></select></label>
    <button type="button" data-name="stop">Stop</button></div>
</div>
<div class="live-part">
  <h3>What one vector of the clean run brings back</h3>
  ${gridBox("Share recovered, by position and layer; arrow keys go from one to the next")}
  ${progress}
  <p class="live-said" data-name="said"></p>
  <p class="live-note">A row is a position, from the first at which the prompts differ (before it both
    runs hold the same vectors); a column is a place in the stream, before each of the four blocks
    and after the last. 0: the vector makes no difference; 1: it makes all the difference.</p>
</div>`;
    // The byte that tells one prediction from another: its share of KL(p‖q) is the largest. That of
    // the other direction is another byte, also where both have the same likeliest one.
    const telling = (i, k) => {
      const [p, q] = [ends[i], ends[k]].map((logits) => engine.probabilities(logits, 1));
      return engine.ranked(p.map((x, id) => x * Math.log(x / q[id])))[0];
    };
    const byte = () => state.byte ?? telling(0, 1);
    const byte2 = () => state.byte2 ?? telling(1, 0);
    const measure = (logits) => logits[byte()] - logits[byte2()];
    const share = (logits) => (measure(logits) - measure(ends[1])) / (measure(ends[0]) - measure(ends[1]));
    const asked = () => byte() !== byte2();
    const refresh = () => {
      const { prompt, other } = state, [n, k] = [prompt.length, other.length];
      found = new Map();
      text("count", n === k ? `${n} of ${MOST} bytes each.` : `${n} and ${k} bytes.`);
      one("grid").parentNode.hidden = n !== k || kit.same(prompt, other);
      text("said", "");
      if (n !== k || !n || kit.same(prompt, other)) {
        task.stop();
        one("stop").disabled = true;
        return text("progress", n === k ? "Both prompts are the same: there is nothing to bring back."
          : "The prompts differ in length: a position of one has no partner in the other.");
      }
      one("stop").disabled = false;
      task.start({ kind: "patch", ids: prompt, other });
      drawRows();
      drawProgress();
    };
    const drawProgress = () => {
      const cells = 5 * (state.prompt.length - first);
      one("stop").textContent = task.running() || found.size === cells ? "Stop" : "Start again";
      one("stop").disabled = found.size === cells;
      text("progress", `${found.size} of ${cells} places. ` + (ends && asked() ? `${spoken(byte())} less ${spoken(byte2())}: ` +
        `${signed(measure(ends[0]), 1)} nats in the clean run, ${signed(measure(ends[1]), 1)} in the corrupt one.`
        : ends ? "Choose two different answers." : ""));
    };
    function drawRows() { // a new table where the prompts are others
      const names = state.prompt.map((id, t) => id === state.other[t] ? sign(id) : `${sign(id)}|${sign(state.other[t])}`);
      first = state.prompt.findIndex((id, t) => id !== state.other[t]);
      const wanted = JSON.stringify([first, names]);
      if (wanted === rows) return;
      rows = wanted;
      const escaped = (name) => name.replace(/[&<]/g, (c) => ({ "&": "&amp;", "<": "&lt;" })[c]);
      table = grid(one("grid"), ["before 0", "before 1", "before 2", "before 3", "after 3"],
        names.slice(first).map((name, i) => `${first + i} <b>${escaped(name)}</b>`),
        (i, depth) => {
          Object.assign(state, { at: first + i, depth });
          drawChosen();
        });
      if (!(state.at >= first && state.at < state.prompt.length)) state.at = first;
      table.choose(state.at - first, state.depth);
    }
    const place = (depth) => depth < 4 ? `before block ${depth}` : "after block 3";
    function drawCell(key) {
      const [depth, at] = key.split(".").map(Number), x = asked() ? share(found.get(key)) : NaN;
      const words = Number.isNaN(x) ? "" : signed(x, 2);
      table.set(at - first, depth, words, x || 0, x < 0, `Position ${at}, ${place(depth)}: ${words}`);
    }
    function drawChosen() {
      table.choose(state.at - first, state.depth);
      const logits = found.get(`${state.depth}.${state.at}`);
      if (!logits || !asked()) return text("said", "");
      const p = engine.probabilities(logits, 1);
      one("said").setAttribute("aria-live", ["prompt", "other"].some((n) => document.activeElement === one(n)) ? "off" : "polite");
      text("said", `With the clean vector at position ${state.at}, ${place(state.depth)}, the corrupt run gives ` +
        `${spoken(byte())} ${percent(p[byte()])} and ${spoken(byte2())} ${percent(p[byte2()])}: ` +
        `${signed(share(logits), 2)} of the difference is back.`);
    }
    function drawAll() {
      if (!ends) return;
      drawOptions();
      [...found.keys()].forEach(drawCell);
      drawProgress();
      drawChosen();
    }
    const drawOptions = () => [["byte", byte, 0], ["byte2", byte2, 1]].forEach(([name, chosen, i]) =>
      options(kit, one(name), engine.probabilities(ends[i], 1), chosen()));
    function show() {
      one("prompt").value = toText(state.prompt);
      one("other").value = toText(state.other);
    }
    return {
      html, show, refresh, begin: refresh, ready: () => {},
      reset: () => { show(); refresh(); },
      stop: () => { task.stop(); drawProgress(); },
      take: {
        ends: (message) => {
          if (!task.isNew(message)) return;
          ends = message.ends;
          drawOptions();
          drawProgress();
        },
        cells: (message) => {
          if (!task.isNew(message)) return;
          if (message.done) task.done();
          for (const { layer, at, logits } of message.cells) {
            found.set(`${layer}.${at}`, logits);
            drawCell(`${layer}.${at}`);
          }
          kit.root.dataset.ms = message.ms;
          drawProgress();
          if (message.cells.some((c) => c.layer === state.depth && c.at === state.at)) drawChosen();
          kit.root.dataset.done = message.done ? found.size : "";
        },
      },
      wire: () => {
        for (const name of ["prompt", "other"]) {
          typed(kit, name, MOST, (bytes) => {
            Object.assign(state, { [name]: bytes, byte: null, byte2: null, at: null });
            refresh();
          });
        }
        for (const name of ["byte", "byte2"]) {
          one(name).onchange = (event) => {
            state[name] = Number(event.target.value);
            drawAll();
          };
        }
        one("stop").onclick = () => {
          if (!task.running()) return refresh();
          task.stop();
          drawProgress();
        };
      },
    };
  };
})();
