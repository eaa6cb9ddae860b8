// The part of the live model in which a reader changes weights: one number, a row, a column, what
// belongs to a head, or a whole array. live.js loads this file for the start page; the changes
// themselves are texts such as "2o-h1-x0" that engine.js reads and a link holds.
(() => {
  "use strict";
  const PARTS = { one: "one number", row: "a row", column: "a column", head: "a head", all: "the whole array" };
  const options = (pairs) => pairs.map(([value, words]) => `<option value="${value}">${words}</option>`).join("");
  const count = (label, name) => `
      <label data-of="${name}">${label} <input type="number" data-name="${name}" min="0" step="1" value="0"></label>`;

  const html = `
<details class="live-part live-edits" data-name="edits">
  <summary>Change weights</summary>
  <form data-name="form">
    <div class="live-row">
      <label class="live-wide">array <select data-name="array"></select></label>
      <label>part <select data-name="part"></select></label>${
        count("row", "row")}${count("column", "column")}${count("head", "number-of-head")}
    </div>
    <p class="live-said" data-name="holds" aria-live="polite"></p>
    <div class="live-row">
      <label>change <select data-name="change">${options([["x", "multiply by"], ["s", "set to"]])}</select></label>
      <label>number <input type="number" data-name="number" step="any" min="-1000" max="1000" value="0" required></label>
      <button class="live-main">Change</button>
    </div>
  </form>
  <ol data-name="changes"></ol>
  <button type="button" data-name="undo-all" hidden>Undo all</button>
  <p data-name="effect"></p>
  <p class="live-note">The weights on your device change, and a link holds the changes. A head of which the
    columns of W_o are 0 writes nothing, as if it were off;
    <a href="25-interpretability.html">chapter 25</a> goes on from there.</p>
</details>`;

  const number = (x) => (Math.abs(x) >= 1e-3 || x === 0 ? String(Number(x.toPrecision(4))) : null);
  // What the rows and the columns of an array stand for, by the end of its name.
  const stream = (i) => `feature ${i} of the residual stream`;
  const MEANING = {
    embedding: [(i, kit) => `the vector of ${kit.spoken(i)}, read and predicted`, stream],
    gamma: [null, (i) => `the gain of ${stream(i)}`],
    W_q: [(i, kit, K) => `query feature ${i % K} of head ${Math.floor(i / K)}`, stream],
    W_k: [(i, kit, K) => `key feature ${i % K} of head ${Math.floor(i / K)}`, stream],
    W_v: [(i, kit, K) => `value feature ${i % K} of head ${Math.floor(i / K)}`, stream],
    W_o: [stream, (i, kit, K) => `value feature ${i % K} of head ${Math.floor(i / K)}`],
    W_in: [(i) => `what neuron ${i} reads`, stream],
    W_gate: [(i) => `the gate of neuron ${i}`, stream],
    W_out: [stream, (i) => `what neuron ${i} writes`],
  };

  function make(kit, change) {
    const { one, text, state } = kit;
    let arrays = [], heads = 1, asked = "";
    const array = () => arrays.find(({ short }) => short === one("array").value);
    const said = (x) => (number(x) ?? kit.power(x)).replace(/^-/, "−");
    const at = (name) => Math.max(0, Math.min(Number(one(name).max), Math.round(one(name).valueAsNumber) || 0));

    // The part that is chosen, as the engine reads it.
    function place() {
      const { short, rows } = array(), [r, c, h] = [at("row"), at("column"), at("number-of-head")];
      const of = { one: rows === 1 ? `c${c}` : `r${r}c${c}`, row: `r${r}`, column: `c${c}`, head: `h${h}`, all: "a" };
      return `${short}-${of[one("part").value]}`;
    }
    // A change in words: “blocks.2.attention.W_o.weight, head 1, × 0”.
    function words(code) {
      const [, short, part, sign, x] = /^(\w+)-(\w+)-([xs])(.+)$/.exec(code);
      const names = { r: "row", c: "column", h: "head" };
      const where = part === "a" ? "" : part.replace(/([rch])(\d+)/g, (_, kind, i) => `, ${names[kind]} ${i}`);
      return `${arrays.find((a) => a.short === short)?.name ?? short}${where}, ${sign === "x" ? "×" : "="} ${x.replace("-", "−")}`;
    }
    // Which parts the array has, and which numbers say where; the numbers stay within it.
    function fit() {
      const { short, rows, columns } = array(), before = one("part").value;
      const has = ["one", ...(rows > 1 ? ["row", "column"] : []), ...(/[qkvo]$/.test(short) ? ["head"] : []), "all"];
      one("part").innerHTML = options(has.map((part) => [part, PARTS[part]]));
      one("part").value = has.includes(before) ? before : "one";
      const part = one("part").value;
      const shown = { row: rows > 1 && ["one", "row"].includes(part), column: ["one", "column"].includes(part), "number-of-head": part === "head" };
      Object.entries({ row: rows, column: columns, "number-of-head": heads }).forEach(([name, n]) => {
        one(name).max = n - 1;
        one(name).value = at(name);
        one(name).closest("label").hidden = !shown[name];
      });
      ask();
    }
    function ask() {
      asked = place() + state.edits;
      kit.send({ kind: "size", place: place() });
    }
    function meaning() {
      const { name, rows, columns } = array(), part = one("part").value;
      const kind = name.replace(/\.weight$/, "").split(/[._](?=embedding|gamma|W)/).pop();
      const [row, column] = MEANING[kind], K = (/W_[qkvo]/.test(name) ? rows : 1) / heads;
      const parts = [];
      if (row && ["one", "row"].includes(part)) parts.push(`row ${at("row")}: ${row(at("row"), kit, K)}`);
      if (["one", "column"].includes(part)) parts.push(`column ${at("column")}: ${column(at("column"), kit, K)}`);
      if (part === "head") parts.push(`the ${kind === "W_o" ? "columns" : "rows"} of head ${at("number-of-head")}`);
      if (part === "all") parts.push(`all of it, ${rows} × ${columns}`);
      return `${name}, ${parts.join("; ")}`;
    }

    function show() { // the list of changes
      one("changes").replaceChildren(...state.edits.map((code, i) => {
        const item = document.createElement("li"), button = document.createElement("button");
        const name = /^\w+-\w+-[xs]./.test(code) ? words(code) : code;
        item.append(`${name} `, button);
        Object.assign(button, { type: "button", textContent: "Undo" });
        button.setAttribute("aria-label", `Undo ${name}`);
        button.onclick = () => {
          text("told", `Undone: ${name}.`);
          change(state.edits.filter((_, k) => k !== i));
          (one("changes").querySelector("button") ?? one("array")).focus();
        };
        return item;
      }));
      one("undo-all").hidden = state.edits.length < 2;
    }

    return {
      ready: (message) => {
        ({ arrays, heads } = message);
        one("array").innerHTML = options(arrays.map(({ short, name }) => [short, name]));
        one("array").value = "0o";
        fit();
        one("part").value = "head";
        one("number-of-head").value = 1;
        fit();
        one("edits").open = state.edits.length > 0;
        one("array").onchange = one("part").onchange = fit;
        for (const name of ["row", "column", "number-of-head"]) one(name).onchange = fit;
        one("form").onsubmit = (event) => {
          event.preventDefault();
          const x = Number(one("number").valueAsNumber.toPrecision(6));
          if (state.edits.length >= kit.CHANGES) return text("told", `${kit.CHANGES} changes at most.`);
          const code = `${place()}-${one("change").value}${x}`;
          text("told", `Changed: ${words(code)}.`);
          change([...state.edits, code]);
        };
        one("undo-all").onclick = () => {
          text("told", "All weights are as trained.");
          change([]);
          one("array").focus();
        };
      },
      show,
      // What the changes do to the text that was read.
      drawn: (seen, perByte) => {
        const { trained } = seen;
        one("effect").hidden = !state.edits.length || !trained;
        one("effect").setAttribute("aria-live", document.activeElement === one("prompt") ? "off" : "polite");
        if (state.edits.length && trained) {
          const others = seen.guess.filter((id, t) => id !== trained.guess[t]).length;
          text("effect", `Your text costs ${perByte(seen.bits)} bits per byte, with the model as trained ${perByte(trained.bits)}; ` +
            `${others} of ${seen.ids.length} predictions differ.`);
        }
        if (asked !== place() + state.edits) ask();
      },
      take: {
        size: ({ place: of, was, now }) => {
          if (of !== place()) return;
          const what = was.count === 1 ? `It is ${said(was.value)}`
            : `${was.count.toLocaleString("en-US")} numbers, root mean square ${said(was.value)}`;
          text("holds", `${meaning()}. ${what}${now.value === was.value ? "" : ` as trained, ${said(now.value)} now`}.`);
        },
        refused: ({ why, edits }) => {
          state.edits = edits;
          one("edits").open = true;
          show();
          text("told", `${why.join(" ")} The model goes on without ${why.length === 1 ? "this change" : "these changes"}.`);
        },
      },
    };
  }

  (window.mathlmLive ??= {}).edits = { html, make };
})();
