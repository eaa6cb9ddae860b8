// A small GPT that is trained in the page: forward, backward and AdamW in plain JavaScript, in
// float64. The model is mathlm.models.GPT with RMSNorm, rotary positions, SwiGLU, no biases and a
// tied head. Nothing is imported and nothing is asked for, so it runs from a file, in a worker
// and in Node. Matrices are Float64Arrays, row after row; weights are (out, in).
// N = B T rows (tokens) go through the model at once.
var mathlmTrainEngine = function () {
  "use strict";

  // About 50,000 parameters, and about 7,000 for a slow device.
  const SIZES = {
    full: { context: 64, width: 48, layers: 2, heads: 4, hidden: 96 },
    small: { context: 64, width: 16, layers: 2, heads: 2, hidden: 40 },
  };
  const OPTIONS = { batch: 8, rate: 0.006, warmUp: 20, clip: 1, beta1: 0.9, beta2: 0.99, eps: 1e-8, decay: 0.1 };
  const EPS = 1e-5; // of the norms

  // --- numbers by chance -----------------------------------------------------------------------

  // Numbers in [0, 1) from a 32-bit state, as in engine.js: Python's are the same bit for bit.
  function random(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let z = Math.imul(state ^ (state >>> 15), state | 1);
      z = (z + Math.imul(z ^ (z >>> 7), z | 61)) ^ z;
      return ((z ^ (z >>> 14)) >>> 0) / 4294967296;
    };
  }

  // Nearly normal, variance 1: sums are the same bit for bit everywhere, logarithms are not.
  function normal(uniform) {
    let sum = -6;
    for (let i = 0; i < 12; i++) sum += uniform();
    return sum;
  }

  // The starts of the windows of a step depend on seed and step alone, so that a run that was
  // interrupted reads what the unbroken one would have read.
  function starts(seed, step, count, last) {
    const uniform = random(seed + Math.imul(step + 1, 0x9e3779b9));
    return Array.from({ length: count }, () => Math.floor(uniform() * (last + 1)));
  }

  // --- the model: one vector θ, and each matrix as a part of it ---------------------------------

  // [name in the package, rows, columns, standard deviation at the start; 0 stands for a gain of 1]
  function layout({ vocab, width: D, layers, hidden: F }) {
    const std = 0.1, writes = std / Math.sqrt(2 * layers);
    const block = (l) => [
      ["attention_norm.gamma", 1, D, 0],
      ["attention.W_q.weight", D, D, std],
      ["attention.W_k.weight", D, D, std],
      ["attention.W_v.weight", D, D, std],
      ["attention.W_o.weight", D, D, writes],
      ["feed_forward_norm.gamma", 1, D, 0],
      ["feed_forward.W_in.weight", F, D, std],
      ["feed_forward.W_gate.weight", F, D, std],
      ["feed_forward.W_out.weight", D, F, writes],
    ].map(([name, ...rest]) => [`blocks.${l}.${name}`, ...rest]);
    const blocks = Array.from({ length: layers }, (_, l) => block(l)).flat();
    return [["token_embedding.weight", vocab, D, std], ...blocks, ["final_norm.gamma", 1, D, 0]];
  }

  // Parts of a vector by name.
  function parts(places, vector) {
    let at = 0;
    return Object.fromEntries(places.map(([name, rows, columns]) =>
      [name, vector.subarray(at, (at += rows * columns))]));
  }

  // A model at its start, which the seed decides.
  function start(config, seed) {
    const places = layout(config), uniform = random(seed);
    const count = places.reduce((sum, [, rows, columns]) => sum + rows * columns, 0);
    const theta = new Float64Array(count), gradient = new Float64Array(count);
    const weights = parts(places, theta);
    for (const [name, , , std] of places) {
      for (let i = 0; i < weights[name].length; i++) weights[name][i] = std ? std * normal(uniform) : 1;
    }
    const model = { config, seed, places, theta, weights, gradient, gradients: parts(places, gradient) };
    const [m, v] = [new Float64Array(count), new Float64Array(count)];
    return { ...model, m, v, step: 0, rates: [], rotation: rotation(config) };
  }

  // Cosines and sines of t ω, with the digits of float32 as the package keeps them.
  function rotation({ context, width, heads }) {
    const half = width / heads / 2;
    const table = (f) => Float64Array.from({ length: context * half }, (_, i) =>
      Math.fround(f(Math.floor(i / half) * 10000 ** (-(i % half) / half))));
    return { half, cos: table(Math.cos), sin: table(Math.sin) };
  }

  // --- products ----------------------------------------------------------------------------------

  // C += A Bᵀ with A (n, k), B (m, k), C (n, m): two rows and four columns at once.
  function addProduct(A, B, C, n, m, k) {
    for (let i = 0; i < n; i += 2) {
      const a = i * k, two = i + 1 < n, b = two ? a + k : a;
      let j = 0;
      for (; j + 3 < m; j += 4) {
        let c0 = 0, c1 = 0, c2 = 0, c3 = 0, d0 = 0, d1 = 0, d2 = 0, d3 = 0;
        for (let p = 0, q = j * k; p < k; p++, q++) {
          const x = A[a + p], y = A[b + p];
          const w0 = B[q], w1 = B[q + k], w2 = B[q + 2 * k], w3 = B[q + 3 * k];
          c0 += x * w0; c1 += x * w1; c2 += x * w2; c3 += x * w3;
          d0 += y * w0; d1 += y * w1; d2 += y * w2; d3 += y * w3;
        }
        const c = i * m + j, d = c + m;
        C[c] += c0; C[c + 1] += c1; C[c + 2] += c2; C[c + 3] += c3;
        if (two) { C[d] += d0; C[d + 1] += d1; C[d + 2] += d2; C[d + 3] += d3; }
      }
      for (; j < m; j++) {
        let c = 0, d = 0;
        for (let p = 0, q = j * k; p < k; p++, q++) { c += A[a + p] * B[q]; d += A[b + p] * B[q]; }
        C[i * m + j] += c;
        if (two) C[(i + 1) * m + j] += d;
      }
    }
  }

  function transposed(A, n, m) {
    const At = new Float64Array(n * m);
    for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) At[j * n + i] = A[i * m + j];
    return At;
  }

  // y = x Wᵀ for N rows.
  function linear(x, W, N) {
    const ins = x.length / N, out = W.length / ins, y = new Float64Array(N * out);
    addProduct(x, W, y, N, out, ins);
    return y;
  }

  // dW += dyᵀ x, and dx += dy W.
  function linearBackward(dy, x, W, dW, dx, N) {
    const ins = x.length / N, out = dy.length / N;
    addProduct(transposed(dy, N, out), transposed(x, N, ins), dW, out, ins, N);
    addProduct(dy, transposed(W, out, ins), dx, N, ins, out);
  }

  const add = (x, y) => { for (let i = 0; i < x.length; i++) x[i] += y[i]; };

  // --- the parts of a block, forward and backward --------------------------------------------------

  // y = γ ⊙ x / √(mean(x²) + ε), row by row; keeps 1 / √(…).
  function rmsNorm(x, gamma) {
    const D = gamma.length, N = x.length / D, y = new Float64Array(x.length), scale = new Float64Array(N);
    for (let n = 0; n < N; n++) {
      let square = 0;
      for (let i = n * D; i < (n + 1) * D; i++) square += x[i] * x[i];
      scale[n] = 1 / Math.sqrt(square / D + EPS);
      for (let i = 0, j = n * D; i < D; i++, j++) y[j] = gamma[i] * x[j] * scale[n];
    }
    return { x: x.slice(), y, scale };
  }

  // With x̂ = x scale and g = γ ⊙ dy:  dγ += Σ dy ⊙ x̂,  dx += scale (g − x̂ mean(g ⊙ x̂)).
  function rmsNormBackward(dy, { x, scale }, gamma, dgamma, dx) {
    const D = gamma.length;
    for (let n = 0; n < scale.length; n++) {
      let mean = 0;
      for (let i = 0, j = n * D; i < D; i++, j++) {
        const xhat = x[j] * scale[n];
        dgamma[i] += dy[j] * xhat;
        mean += gamma[i] * dy[j] * xhat / D;
      }
      for (let i = 0, j = n * D; i < D; i++, j++) {
        dx[j] += scale[n] * (gamma[i] * dy[j] - x[j] * scale[n] * mean);
      }
    }
  }

  // Turn feature i of each head with feature i + K/2 by t ω[i]; backward by −t ω[i].
  function rotate(x, { half, cos, sin }, { T, D }, sign) {
    for (let from = 0; from < x.length; from += 2 * half) {
      const t = Math.floor(from / D) % T;
      for (let n = 0, i = from, j = from + half, r = t * half; n < half; n++, i++, j++, r++) {
        const a = x[i], b = x[j], s = sign * sin[r];
        x[i] = a * cos[r] - b * s;
        x[j] = b * cos[r] + a * s;
      }
    }
  }

  // A = softmax(q kᵀ / √K) over s ≤ t, y = A v, for every sequence and head; keeps A.
  function attention(q, k, v, { B, T, H, D }) {
    const K = D / H, root = 1 / Math.sqrt(K), A = new Float64Array(B * H * T * T), y = new Float64Array(q.length);
    for (let b = 0; b < B; b++) for (let h = 0; h < H; h++) for (let t = 0; t < T; t++) {
      const row = ((b * H + h) * T + t) * T, at = (b * T + t) * D + h * K;
      let largest = -Infinity, sum = 0;
      for (let s = 0; s <= t; s++) {
        let score = 0;
        for (let i = 0, j = (b * T + s) * D + h * K; i < K; i++, j++) score += q[at + i] * k[j];
        A[row + s] = score * root;
        largest = Math.max(largest, A[row + s]);
      }
      for (let s = 0; s <= t; s++) sum += A[row + s] = Math.exp(A[row + s] - largest);
      for (let s = 0; s <= t; s++) {
        const a = A[row + s] /= sum;
        for (let i = 0, j = (b * T + s) * D + h * K; i < K; i++, j++) y[at + i] += a * v[j];
      }
    }
    return { A, y };
  }

  // dv = Aᵀ dy,  dA = dy vᵀ,  dS = A ⊙ (dA − Σ A dA) / √K,  dq = dS k,  dk = dSᵀ q.
  function attentionBackward(dy, A, q, k, v, { B, T, H, D }) {
    const K = D / H, root = 1 / Math.sqrt(K), dA = new Float64Array(T);
    const [dq, dk, dv] = [0, 1, 2].map(() => new Float64Array(q.length));
    for (let b = 0; b < B; b++) for (let h = 0; h < H; h++) for (let t = 0; t < T; t++) {
      const row = ((b * H + h) * T + t) * T, at = (b * T + t) * D + h * K;
      let mean = 0;
      for (let s = 0; s <= t; s++) {
        const a = A[row + s];
        let sum = 0;
        for (let i = 0, j = (b * T + s) * D + h * K; i < K; i++, j++) {
          sum += dy[at + i] * v[j];
          dv[j] += a * dy[at + i];
        }
        dA[s] = sum;
        mean += a * sum;
      }
      for (let s = 0; s <= t; s++) {
        const dS = A[row + s] * (dA[s] - mean) * root;
        for (let i = 0, j = (b * T + s) * D + h * K; i < K; i++, j++) {
          dq[at + i] += dS * k[j];
          dk[j] += dS * q[at + i];
        }
      }
    }
    return { dq, dk, dv };
  }

  // u = silu(gate) ⊙ inner, and its gradients.
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  const gated = (gate, inner) => gate.map((g, i) => g * sigmoid(g) * inner[i]);
  function gatedBackward(du, gate, inner) {
    const dgate = new Float64Array(du.length), dinner = new Float64Array(du.length);
    for (let i = 0; i < du.length; i++) {
      const s = sigmoid(gate[i]);
      dinner[i] = du[i] * gate[i] * s;
      dgate[i] = du[i] * inner[i] * s * (1 + gate[i] * (1 - s));
    }
    return { dgate, dinner };
  }

  // --- the whole model -----------------------------------------------------------------------------

  // Logits (N, V) of B sequences of T tokens, one after another in ids, and what backward needs.
  function forward(model, ids, B) {
    const { config: { width: D, heads: H, layers }, weights: W } = model, N = ids.length;
    const shape = { B, T: N / B, H, D }, x = new Float64Array(N * D), kept = [];
    ids.forEach((id, n) => x.set(W["token_embedding.weight"].subarray(id * D, (id + 1) * D), n * D));
    for (let l = 0; l < layers; l++) {
      const w = (name) => W[`blocks.${l}.${name}`];
      const norm1 = rmsNorm(x, w("attention_norm.gamma"));
      const [q, k, v] = ["q", "k", "v"].map((n) => linear(norm1.y, w(`attention.W_${n}.weight`), N));
      for (const z of [q, k]) rotate(z, model.rotation, shape, 1);
      const { A, y } = attention(q, k, v, shape);
      add(x, linear(y, w("attention.W_o.weight"), N));
      const norm2 = rmsNorm(x, w("feed_forward_norm.gamma"));
      const inner = linear(norm2.y, w("feed_forward.W_in.weight"), N);
      const gate = linear(norm2.y, w("feed_forward.W_gate.weight"), N), u = gated(gate, inner);
      add(x, linear(u, w("feed_forward.W_out.weight"), N));
      kept.push({ norm1, q, k, v, A, y, norm2, inner, gate, u });
    }
    const last = rmsNorm(x, W["final_norm.gamma"]);
    return { ids, shape, kept, last, logits: linear(last.y, W["token_embedding.weight"], N) };
  }

  // Probabilities from logits, row by row and in place, and the mean nats of the targets, or the
  // nats of the one at a position.
  function crossEntropy(logits, targets, at = null) {
    const N = targets.length, V = logits.length / N;
    let nats = 0;
    for (let n = 0; n < N; n++) {
      let largest = -Infinity, sum = 0;
      const counts = at === null || n === at;
      for (let i = n * V; i < (n + 1) * V; i++) largest = Math.max(largest, logits[i]);
      if (counts) nats -= logits[n * V + targets[n]] - largest;
      for (let i = n * V; i < (n + 1) * V; i++) sum += logits[i] = Math.exp(logits[i] - largest);
      for (let i = n * V; i < (n + 1) * V; i++) logits[i] /= sum;
      if (counts) nats += Math.log(sum);
    }
    return at === null ? nats / N : nats;
  }

  // Mean nats per target, without gradients.
  const loss = (model, ids, targets, B, at) => crossEntropy(forward(model, ids, B).logits, targets, at);

  // Mean nats per target, or nats of the one at a position; the derivative in every parameter goes
  // into model.gradient.
  function lossAndGradient(model, ids, targets, B, at = null) {
    const { weights: W, gradients: G, config: { width: D, layers } } = model, N = ids.length;
    const { shape, kept, last, logits } = forward(model, ids, B), E = "token_embedding.weight";
    const nats = crossEntropy(logits, targets, at), dz = logits, V = dz.length / N;
    targets.forEach((target, n) => { dz[n * V + target] -= 1; });
    if (at === null) for (let i = 0; i < dz.length; i++) dz[i] /= N;
    else dz.fill(0, 0, at * V).fill(0, (at + 1) * V);
    model.gradient.fill(0);
    const zeros = (columns) => new Float64Array(N * columns);
    const dlast = zeros(D), dx = zeros(D);
    linearBackward(dz, last.y, W[E], G[E], dlast, N);
    rmsNormBackward(dlast, last, W["final_norm.gamma"], G["final_norm.gamma"], dx);
    for (let l = layers - 1; l >= 0; l--) {
      const { norm1, q, k, v, A, y, norm2, inner, gate, u } = kept[l], name = (n) => `blocks.${l}.${n}`;
      const back = (dy, x, n, dx) => linearBackward(dy, x, W[name(n)], G[name(n)], dx, N);
      const [du, dh2, dy, dh1] = [zeros(u.length / N), zeros(D), zeros(D), zeros(D)];
      back(dx, u, "feed_forward.W_out.weight", du);
      const { dgate, dinner } = gatedBackward(du, gate, inner);
      back(dinner, norm2.y, "feed_forward.W_in.weight", dh2);
      back(dgate, norm2.y, "feed_forward.W_gate.weight", dh2);
      const gamma2 = name("feed_forward_norm.gamma"), gamma1 = name("attention_norm.gamma");
      rmsNormBackward(dh2, norm2, W[gamma2], G[gamma2], dx);
      back(dx, y, "attention.W_o.weight", dy);
      const { dq, dk, dv } = attentionBackward(dy, A, q, k, v, shape);
      for (const dz of [dq, dk]) rotate(dz, model.rotation, shape, -1);
      back(dq, norm1.y, "attention.W_q.weight", dh1);
      back(dk, norm1.y, "attention.W_k.weight", dh1);
      back(dv, norm1.y, "attention.W_v.weight", dh1);
      rmsNormBackward(dh1, norm1, W[gamma1], G[gamma1], dx);
    }
    ids.forEach((id, n) => { for (let i = 0; i < D; i++) G[E][id * D + i] += dx[n * D + i]; });
    return nats;
  }

  // --- training --------------------------------------------------------------------------------------

  const norm = (x) => Math.sqrt(x.reduce((sum, a) => sum + a * a, 0));

  // A step of AdamW after the gradient was clipped to a norm of `clip`; returns the norm before.
  // Gains do not decay.
  function adamW(model, rate, { clip, beta1, beta2, eps, decay } = OPTIONS) {
    const size = norm(model.gradient), scale = Math.min(1, clip / size);
    const t = ++model.step, [c1, c2] = [1 - beta1 ** t, 1 - beta2 ** t];
    let i = 0;
    for (const [, rows, columns, std] of model.places) {
      const lambda = std ? decay : 0;
      for (const end = i + rows * columns; i < end; i++) {
        const g = scale * model.gradient[i];
        const m = model.m[i] = beta1 * model.m[i] + (1 - beta1) * g;
        const v = model.v[i] = beta2 * model.v[i] + (1 - beta2) * g * g;
        model.theta[i] -= rate * (m / c1 / (Math.sqrt(v / c2) + eps) + lambda * model.theta[i]);
      }
    }
    return size;
  }

  // Windows of a text: tokens from each start, and those that follow them.
  function windows(text, from, T) {
    const cut = (shift) => Int32Array.from(from.flatMap((at) => [...text.subarray(at + shift, at + shift + T)]));
    return { ids: cut(0), targets: cut(1), B: from.length };
  }

  // The step size rises for some steps and then stays.
  const rateAt = (step, peak) => peak * Math.min(1, (step + 1) / OPTIONS.warmUp);

  // One step on a text (Int32Array of tokens); returns the loss before it.
  function trainStep(model, text, peak) {
    const T = model.config.context, last = text.length - T - 1;
    const { ids, targets, B } = windows(text, starts(model.seed, model.step, OPTIONS.batch, last), T);
    const nats = lossAndGradient(model, ids, targets, B), { rates } = model;
    if (rates && rates[rates.length - 1]?.[1] !== peak) rates.push([model.step, peak]); // since when
    adamW(model, rateAt(model.step, peak));
    return nats;
  }

  // Mean nats per character of a text that is cut into windows; what does not fill one is left out.
  function evaluate(model, text, most = Infinity) {
    const T = model.config.context, count = Math.min(most, Math.floor((text.length - 1) / T));
    let sum = 0;
    for (let w = 0; w < count; w++) {
      const { ids, targets } = windows(text, [w * T], T);
      sum += loss(model, ids, targets, 1);
    }
    return sum / count;
  }

  // The central difference of the loss in one parameter.
  function difference(model, { ids, targets, B, at }, index, h) {
    const kept = model.theta[index];
    const [ahead, back] = [kept + h, kept - h].map((value) => {
      model.theta[index] = value;
      return loss(model, ids, targets, B, at);
    });
    model.theta[index] = kept;
    return (ahead - back) / (2 * h);
  }

  // Go on with a text: the tokens that are drawn, each from the last tokens that fit the context.
  function write(model, prompt, n, temperature, seed) {
    const uniform = random(seed), found = [...prompt], { context, vocab } = model.config;
    for (let i = 0; i < n; i++) {
      const ids = Int32Array.from(found.slice(-context));
      const z = forward(model, ids, 1).logits.slice(-vocab).map((x) => x / temperature);
      crossEntropy(z, [0]);
      let u = uniform(), id = 0;
      while (id < vocab - 1 && (u -= z[id]) >= 0) id++;
      found.push(id);
    }
    return found.slice(prompt.length);
  }

  // What counting reaches on another text [nats per character]: every character alike, and the
  // frequencies of characters and of pairs, each count one larger than it was.
  function counted(text, other, vocab) {
    const single = new Float64Array(vocab).fill(1), pairs = new Float64Array(vocab * vocab).fill(1);
    const before = new Float64Array(vocab).fill(vocab);
    text.forEach((c, i) => {
      single[c]++;
      if (i + 1 < text.length) { pairs[c * vocab + text[i + 1]]++; before[c]++; }
    });
    let [letters, twos] = [0, 0];
    for (let i = 1; i < other.length; i++) {
      letters -= Math.log(single[other[i]] / (text.length + vocab));
      twos -= Math.log(pairs[other[i - 1] * vocab + other[i]] / before[other[i - 1]]);
    }
    return { alike: Math.log(vocab), letters: letters / (other.length - 1), pairs: twos / (other.length - 1) };
  }

  // --- text, and a model in a file -------------------------------------------------------------------

  // The characters of a text in the order of their codes, and a text as their numbers.
  const alphabet = (text) => [...new Set(text)].sort().join("");
  const encode = (text, characters) => Int32Array.from([...text], (c) => characters.indexOf(c)).filter((id) => id >= 0);
  const decode = (ids, characters) => Array.from(ids, (id) => characters[id]).join("");

  const toBase64 = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength), pieces = [];
    for (let i = 0; i < bytes.length; i += 8192) pieces.push(String.fromCharCode(...bytes.subarray(i, i + 8192)));
    return btoa(pieces.join(""));
  };
  const fromBase64 = (text) => new Float64Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

  // Whether these are step sizes [[from step, size], …] of a run of so many steps, from its first on.
  const isSchedule = (rates, steps) => Array.isArray(rates) && (rates[0]?.[0] === 0 || steps === 0) &&
    rates.every(([from, rate], i) => Number.isInteger(from) && from < steps && rate > 0 && rate < 1
      && (i === 0 || from > rates[i - 1][0]));

  // All that a run needs to go on, as a value for JSON: each array in base64 of float64.
  function save(model, characters) {
    const { config, seed, step, rates } = model;
    const arrays = (vector) => Object.fromEntries(Object.entries(parts(model.places, vector))
      .map(([name, part]) => [name, toBase64(part)]));
    const shapes = Object.fromEntries(model.places.map(([name, rows, columns, std]) =>
      [name, std ? [rows, columns] : [columns]]));
    const moments = { m: arrays(model.m), v: arrays(model.v) };
    return { kind: "mathlm-train", config, seed, step, rates, characters, shapes, weights: arrays(model.theta), ...moments };
  }

  // The model of a file that save() made for these characters; otherwise an error that says why not.
  function load(file, characters) {
    if (file?.kind !== "mathlm-train") throw new Error("This file holds no model that was saved here.");
    if (file.characters !== characters) throw new Error("The model of this file knows other characters.");
    const known = Object.values(SIZES).some((size) =>
      Object.entries(size).every(([name, value]) => file.config?.[name] === value));
    const counts = [file.seed, file.step].every((n) => Number.isInteger(n) && n >= 0);
    if (!known || !counts) throw new Error("The model of this file has other sizes.");
    const model = start({ ...file.config, vocab: characters.length }, file.seed);
    for (const [from, to] of [["weights", "theta"], ["m", "m"], ["v", "v"]]) {
      for (const [name, part] of Object.entries(parts(model.places, model[to]))) {
        let array = [];
        try { array = fromBase64(file[from][name]); } catch { /* not there, or no base64 */ }
        const whole = array.length === part.length && array.every(Number.isFinite);
        if (!whole) throw new Error(`${name} is damaged in this file.`);
        part.set(array);
      }
    }
    model.step = file.step;
    model.rates = isSchedule(file.rates, file.step) ? file.rates : null; // null: not known
    return model;
  }

  return {
    SIZES, OPTIONS, random, normal, starts, start, forward, loss, lossAndGradient, adamW, rateAt,
    windows, isSchedule, trainStep, evaluate, difference, write, norm, counted, alphabet, encode, decode, save, load,
  };
};
if (typeof module !== "undefined") module.exports = mathlmTrainEngine();
