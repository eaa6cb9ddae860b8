// The GPT of chapter 19 in plain JavaScript: one token at a time through a KV cache, in float64.
// Nothing is imported and nothing is asked for, so it runs from a file, in a worker and in Node.
// Vectors are rows of Float64Arrays; a matrix (out, in) is one Float64Array, row after row.
// `mathlmEngine` is a function whose text makes the engine anew: a worker gets it as text.
var mathlmEngine = function () {
  "use strict";

  // --- weights: int8 codes and one step for each row, then the gains of the norms --------------

  function model({ config, data }) {
    const { vocab, context, width, layers, heads, hidden, omega } = config;
    const text = atob(data), bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    const shapes = [[vocab, width]];
    const block = [[width, width], [width, width], [width, width], [width, width],
      [hidden, width], [hidden, width], [width, hidden]];
    for (let l = 0; l < layers; l++) shapes.push(...block);
    const sum = (of) => shapes.reduce((total, shape) => total + of(shape), 0);
    const nCodes = sum(([out, ins]) => out * ins), nRows = sum(([out]) => out);
    const codes = new Int8Array(bytes.buffer, 0, nCodes);
    const floats = new Float32Array(bytes.buffer.slice(nCodes)); // a copy: aligned to 4 bytes
    let at = 0, row = 0, gain = nRows;
    const matrix = (out, ins) => {
      const w = new Float64Array(out * ins);
      for (let r = 0; r < out; r++) {
        const step = floats[row++];
        for (let c = 0; c < ins; c++) w[r * ins + c] = codes[at++] * step; // exact in float64
      }
      return w;
    };
    const gains = () => Float64Array.from(floats.subarray(gain, (gain += width)));
    const E = matrix(vocab, width), blocks = [];
    for (let l = 0; l < layers; l++) {
      const [Wq, Wk, Wv, Wo, Win, Wgate, Wout] = block.map(([out, ins]) => matrix(out, ins));
      blocks.push({ Wq, Wk, Wv, Wo, Win, Wgate, Wout });
    }
    for (const b of blocks) [b.norm1, b.norm2] = [gains(), gains()];
    return { ...config, E, blocks, norm: gains(), rotation: rotation(context, omega) };
  }

  // Cosines and sines of t ω, rounded to float32 as the package keeps them: with the digits
  // of float64 the logits would differ from the package's by 5e-7.
  function rotation(context, omega) {
    const cos = [], sin = [];
    for (let t = 0; t < context; t++) {
      cos.push(Float64Array.from(omega, (w) => Math.fround(Math.cos(t * w))));
      sin.push(Float64Array.from(omega, (w) => Math.fround(Math.sin(t * w))));
    }
    return { cos, sin };
  }

  // --- the parts of a block --------------------------------------------------------------------

  // y = W x. Four sums at once: an addition need not wait for the one before it.
  function multiply(W, x, y) {
    const ins = x.length, out = W.length / ins;
    for (let r = 0, i = 0; r < out; r++) {
      let a = 0, b = 0, c = 0, d = 0;
      for (let j = 0; j < ins; j += 4, i += 4) {
        a += W[i] * x[j];
        b += W[i + 1] * x[j + 1];
        c += W[i + 2] * x[j + 2];
        d += W[i + 3] * x[j + 3];
      }
      y[r] = a + b + (c + d);
    }
    return y;
  }

  // y = γ ⊙ x / √(mean(x²) + ε)
  function rmsNorm(x, gamma, eps, y) {
    let square = 0;
    for (let i = 0; i < x.length; i++) square += x[i] * x[i];
    const scale = 1 / Math.sqrt(square / x.length + eps);
    for (let i = 0; i < x.length; i++) y[i] = gamma[i] * x[i] * scale;
    return y;
  }

  // Turn feature i of each head with feature i + K/2 by the angle t ω[i].
  function rotate(x, cos, sin, K) {
    for (let start = 0; start < x.length; start += K) {
      for (let i = start, j = start + K / 2, n = 0; n < K / 2; i++, j++, n++) {
        const a = x[i], b = x[j];
        x[i] = a * cos[n] - b * sin[n];
        x[j] = b * cos[n] + a * sin[n];
      }
    }
  }

  // Turns scores[0 … n - 1] into weights that sum to 1.
  function softmax(scores, n) {
    let largest = -Infinity, sum = 0;
    for (let i = 0; i < n; i++) largest = Math.max(largest, scores[i]);
    for (let i = 0; i < n; i++) sum += scores[i] = Math.exp(scores[i] - largest);
    for (let i = 0; i < n; i++) scores[i] /= sum;
    return scores;
  }

  // What position t reads in one layer: y[head] = Σ weight[s] v[s] over s ≤ t. The cache holds no
  // later position, and so the order is causal without a mask.
  function attend(q, keys, values, t, heads, off, maps, y) {
    const D = q.length, K = D / heads, context = keys.length / D, scale = 1 / Math.sqrt(K);
    y.fill(0);
    for (let h = 0; h < heads; h++) {
      const from = (h * context + t) * context, start = h * K;
      const weights = maps.subarray(from, from + t + 1);
      for (let s = 0; s <= t; s++) {
        let score = 0;
        for (let i = start, j = s * D + start; i < start + K; i++, j++) score += q[i] * keys[j];
        weights[s] = score * scale;
      }
      softmax(weights, t + 1);
      if (off[h]) continue; // a head that is off looks, and writes nothing
      for (let s = 0; s <= t; s++) {
        const w = weights[s];
        for (let i = start, j = s * D + start; i < start + K; i++, j++) y[i] += w * values[j];
      }
    }
    return y;
  }

  // y = W_out (silu(W_gate x) ⊙ W_in x)
  function feedForward(b, x, hidden, y) {
    const gate = multiply(b.Wgate, x, new Float64Array(hidden));
    const inner = multiply(b.Win, x, new Float64Array(hidden));
    for (let i = 0; i < hidden; i++) inner[i] *= gate[i] / (1 + Math.exp(-gate[i]));
    return multiply(b.Wout, inner, y);
  }

  // --- a run: what was read, and the taps of every position ------------------------------------

  // Switches: `off` lists heads as [layer, head]; `positions` false leaves queries and keys
  // unturned; a patch {layer, at, vector} replaces the residual stream before that layer.
  function newRun(m, { off = [], positions = true, patches = [] } = {}) {
    const table = (n) => Array.from({ length: n }, () => new Float64Array(m.context * m.width));
    return {
      ids: [],
      off: m.blocks.map((_, l) => Array.from({ length: m.heads }, (_, h) =>
        off.some(([layer, head]) => layer === l && head === h))),
      positions,
      patches,
      keys: table(m.layers),
      values: table(m.layers),
      residual: table(m.layers + 1), // before each layer, and behind the last
      maps: m.blocks.map(() => new Float64Array(m.heads * m.context * m.context)), // (H, T, S)
      logits: new Float64Array(m.context * m.vocab), // of the token after each position
    };
  }

  // Read one more token; its logits are the run's last row.
  function step(m, run, id) {
    const t = run.ids.length, D = m.width, K = D / m.heads;
    const [cos, sin] = [m.rotation.cos[t], m.rotation.sin[t]];
    const [h, q, y] = [new Float64Array(D), new Float64Array(D), new Float64Array(D)];
    const x = Float64Array.from(m.E.subarray(id * D, (id + 1) * D));
    const add = (branch) => { for (let i = 0; i < D; i++) x[i] += branch[i]; };
    const record = (l) => {
      for (const patch of run.patches) if (patch.layer === l && patch.at === t) x.set(patch.vector);
      run.residual[l].set(x, t * D);
    };
    m.blocks.forEach((b, l) => {
      record(l);
      const [keys, values] = [run.keys[l], run.values[l]];
      rmsNorm(x, b.norm1, m.eps, h);
      multiply(b.Wq, h, q);
      const k = multiply(b.Wk, h, keys.subarray(t * D, (t + 1) * D));
      multiply(b.Wv, h, values.subarray(t * D, (t + 1) * D));
      if (run.positions) [q, k].forEach((z) => rotate(z, cos, sin, K));
      add(multiply(b.Wo, attend(q, keys, values, t, m.heads, run.off[l], run.maps[l], y), h));
      rmsNorm(x, b.norm2, m.eps, h);
      add(feedForward(b, h, m.hidden, y));
    });
    record(m.layers);
    multiply(m.E, rmsNorm(x, m.norm, m.eps, h), logitsAt(m, run, t));
    run.ids.push(id);
  }

  const logitsAt = (m, run, t) => run.logits.subarray(t * m.vocab, (t + 1) * m.vocab);

  // Make the run one of these ids. What both begin with is in the cache already: a letter typed at
  // the end costs one step. Returns how many positions were kept.
  function read(m, run, ids) {
    let same = 0;
    while (same < ids.length && run.ids[same] === ids[same]) same++;
    run.ids.length = same;
    for (let t = same; t < Math.min(ids.length, m.context); t++) step(m, run, ids[t]);
    return same;
  }

  // A patch that carries the residual stream of another run over.
  const patchFrom = (m, run, layer, at) => ({
    layer, at, vector: run.residual[layer].slice(at * m.width, (at + 1) * m.width),
  });

  // --- weights that a reader changes -----------------------------------------------------------

  // Every array by a short name: who holds it and under which key, its name in the package, and
  // its shape (rows, columns); gains are one row.
  function arrays(m) {
    const D = m.width, F = m.hidden;
    const found = Object.create(null);
    const put = (short, owner, key, name, rows = D, columns = D) => {
      found[short] = { owner, key, name, rows, columns };
    };
    put("E", m, "E", "token_embedding.weight", m.vocab);
    m.blocks.forEach((b, l) => {
      const within = (short, key, name, ...shape) => put(l + short, b, key, `blocks.${l}.${name}`, ...shape);
      within("n1", "norm1", "attention_norm.gamma", 1);
      for (const z of "qkvo") within(z, `W${z}`, `attention.W_${z}.weight`);
      within("n2", "norm2", "feed_forward_norm.gamma", 1);
      for (const z of ["in", "gate"]) within(z, `W${z}`, `feed_forward.W_${z}.weight`, F);
      within("out", "Wout", "feed_forward.W_out.weight", D, F);
    });
    put("n", m, "norm", "final_norm.gamma", 1);
    return found;
  }

  // What a text such as "2o-h1-x0" names: an array, a part of it (a all, r a row, c a column, both
  // one number, h the rows or, of W_o, the columns of a head) and, where it says so, a change
  // (x times a number, s set to it). Otherwise an error that says what is not there.
  function spot(m, code, changing = true) {
    const part = "a|h(\\d+)|(?=[rc])(?:r(\\d+))?(?:c(\\d+))?", changed = "([xs])(-?\\d*\\.?\\d+(?:e-?\\d+)?)";
    const form = new RegExp(`^(\\w+)-(?:${part})(?:-${changed})?$`);
    const [, short, head, row, column, change, number] = form.exec(code) ?? [];
    if (!short || (changing && !change)) throw new Error(`“${code}” is no change of a weight.`);
    const array = arrays(m)[short];
    if (!array) throw new Error(`The model has no array “${short}”.`);
    const { name, rows, columns } = array, K = m.width / m.heads;
    const range = (i, n) => i === undefined ? [0, n] : [Number(i), Number(i) + 1];
    let [r, c] = [range(row, rows), range(column, columns)];
    if (head !== undefined) {
      const own = [head * K, head * K + K];
      if (/[qkv]$/.test(short)) r = own;
      else if (/\do$/.test(short)) c = own;
      else throw new Error(`${name} has no heads.`);
    }
    if (r[1] > rows || c[1] > columns) {
      throw new Error(`“${code}” is outside of ${name}, (${rows}, ${columns}).`);
    }
    if (Math.abs(number) > 1000) {
      throw new Error(`“${code}”: the number must lie between −1000 and 1000.`);
    }
    return { ...array, r, c, change, number: Number(number) };
  }

  // Indices of a part.
  function* indices({ columns, r, c }) {
    for (let i = r[0]; i < r[1]; i++) for (let j = c[0]; j < c[1]; j++) yield i * columns + j;
  }

  // The model with changes, one after another; arrays that none of them names are shared.
  function edited(m, codes) {
    const found = { ...m, blocks: m.blocks.map((b) => ({ ...b })) };
    for (const code of codes) {
      const place = spot(found, code), { owner, key, change, number } = place;
      const W = owner[key] = owner[key].slice();
      for (const i of indices(place)) W[i] = change === "x" ? W[i] * number : number;
    }
    return found;
  }

  // What a part holds: its number, or of several the root mean square.
  function size(m, code) {
    const place = spot(m, code, false), W = place.owner[place.key];
    let [count, square] = [0, 0];
    for (const i of indices(place)) [count, square] = [count + 1, square + W[i] * W[i]];
    return { count, value: count === 1 ? W[indices(place).next().value] : Math.sqrt(square / count) };
  }

  // --- one part changed at a time: grids, cell by cell, with null for a pause ----------------------

  // Read in pieces, so that who asks can look up in between.
  function* slowly(m, run, ids) {
    for (let n = run.ids.length + 16; n < ids.length; n += 16) {
      read(m, run, ids.slice(0, n));
      yield null;
    }
    read(m, run, ids);
  }

  // Logits at the last position with each head off in turn, in a run that may have been used.
  function* ablations(m, ids, run = newRun(m)) {
    for (const heads of run.off) heads.fill(false);
    for (let layer = 0; layer < m.layers; layer++) {
      for (let head = 0; head < m.heads; head++) {
        run.off[layer][head] = true;
        run.ids.length = 0; // the cache was filled with another head off
        yield* slowly(m, run, ids);
        yield { layer, head, logits: logitsAt(m, run, ids.length - 1).slice() };
        run.off[layer][head] = false;
      }
    }
  }

  // Logits at the last position of the corrupt run with one vector of the clean run in it: the
  // residual stream at one position, before a layer or, as layer m.layers, behind the last. The
  // positions go from the last to the first, so that the cache before each is still the corrupt
  // run's own; where the runs have read the same they hold the same, and no cell is given.
  function* patchings(m, clean, corrupt) {
    const ids = [...corrupt.ids], last = ids.length - 1;
    const first = ids.findIndex((id, t) => id !== clean.ids[t]);
    for (let at = last; first >= 0 && at >= first; at--) {
      for (let layer = m.layers; layer >= 0; layer--) {
        corrupt.patches = [patchFrom(m, clean, layer, at)];
        corrupt.ids.length = at;
        yield* slowly(m, corrupt, ids);
        yield { layer, at, logits: logitsAt(m, corrupt, last).slice() };
      }
    }
  }

  // --- from logits to a token ------------------------------------------------------------------

  // Temperature, then the fewest tokens that reach topP; of equals the lowest id comes first.
  function probabilities(logits, temperature, topP = 1) {
    const n = logits.length, p = new Float64Array(n);
    let largest = 0;
    for (let i = 1; i < n; i++) if (logits[i] > logits[largest]) largest = i;
    if (temperature === 0) {
      p[largest] = 1;
      return p;
    }
    for (let i = 0; i < n; i++) p[i] = (logits[i] - logits[largest]) / temperature;
    softmax(p, n);
    if (topP >= 1) return p;
    let reached = 0;
    for (const i of ranked(p)) {
      if (i !== largest && reached >= topP) p[i] = 0;
      else reached += p[i];
    }
    return p.map((x) => x / reached);
  }

  // Ids, likeliest first.
  const ranked = (p) => Array.from(p, (_, i) => i).sort((i, j) => p[j] - p[i] || i - j);

  // The first id at which the sum of the probabilities exceeds u.
  function draw(p, u) {
    let sum = 0, last = 0;
    for (let i = 0; i < p.length; i++) {
      if (p[i] > 0) last = i;
      if ((sum += p[i]) > u) return i;
    }
    return last; // u is above the sum by rounding
  }

  // Numbers in [0, 1) from a 32-bit state: "mulberry32", integers throughout, so that Python's
  // are the same bit for bit.
  function random(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let z = Math.imul(state ^ (state >>> 15), state | 1);
      z = (z + Math.imul(z ^ (z >>> 7), z | 61)) ^ z;
      return ((z ^ (z >>> 14)) >>> 0) / 4294967296;
    };
  }

  // The next token of a run, which is then read too.
  function write(m, run, { temperature, topP, uniform }) {
    const logits = logitsAt(m, run, run.ids.length - 1);
    const id = draw(probabilities(logits, temperature, topP), temperature === 0 ? 0 : uniform());
    step(m, run, id);
    return id;
  }

  return {
    model, newRun, read, step, write, patchFrom, arrays, spot, edited, size, ablations, patchings,
    logitsAt, probabilities, ranked, random,
  };
};
if (typeof module !== "undefined") module.exports = mathlmEngine();
