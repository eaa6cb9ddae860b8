// Search in the sections of the book, without a network: words are counted when the index is loaded.
// Rank: BM25 over three fields (title of the page, headings, text), phrases, and what the whole page is about.
// Runs in a page and in Node; `mathlmSearch.engine(index)` takes what book/_ext/search_index.py writes.
var mathlmSearch = {};

(() => {
  "use strict";

  // --- words -----------------------------------------------------------------------------------

  const GREEK = { α: "alpha", β: "beta", γ: "gamma", δ: "delta", ε: "epsilon", ζ: "zeta", η: "eta", θ: "theta", κ: "kappa", λ: "lambda", μ: "mu", ν: "nu", ξ: "xi", π: "pi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", χ: "chi", ψ: "psi", ω: "omega", "√": "sqrt" };
  const STOP = new Set("a an and are as at be been but by can do does for from had has have how i if in into is it its may more not of on or our so than that the their them then there these they this to was we were what when where which while who why will with you your".split(" "));
  const WORD = /√|[\p{L}\p{N}]+(?:[_'’][\p{L}\p{N}]+)*/gu;

  // Porter, M. F. (1980), An algorithm for suffix stripping, Program 14(3).
  const porter = (() => {
    const C = "[^aeiou](?:[^aeiouy]*)", V = "[aeiouy](?:[aeiou]*)";
    const m0 = new RegExp(`^(?:${C})?${V}${C}`), m1 = new RegExp(`^(?:${C})?${V}${C}(?:${V})?$`), m2 = new RegExp(`^(?:${C})?${V}${C}${V}${C}`);
    const vowel = new RegExp(`^(?:${C})?[aeiouy]`), cvc = new RegExp(`^${C}[aeiouy][^aeiouwxy]$`);
    const TWO = { ational: "ate", tional: "tion", enci: "ence", anci: "ance", izer: "ize", abli: "able", alli: "al", entli: "ent", eli: "e", ousli: "ous", ization: "ize", ation: "ate", ator: "ate", alism: "al", iveness: "ive", fulness: "ful", ousness: "ous", aliti: "al", iviti: "ive", biliti: "ble" };
    const THREE = { icate: "ic", ative: "", alize: "al", iciti: "ic", ical: "ic", ful: "", ness: "" };
    const FOUR = /^(.+?)(al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ou|ism|ate|iti|ous|ive|ize)$/;
    const longest = (w, map) => {
      const suffix = Object.keys(map).filter((s) => w.endsWith(s)).sort((a, b) => b.length - a.length)[0];
      const stem = suffix && w.slice(0, -suffix.length);
      return stem && m0.test(stem) ? stem + map[suffix] : w;
    };
    return (word) => {
      if (word.length < 3 || !/^[a-z]+$/.test(word)) return word;
      let w = word[0] === "y" ? "Y" + word.slice(1) : word;
      w = w.replace(/^(.+?)(ss|i)es$/, "$1$2").replace(/^(.+?)([^s])s$/, "$1$2");
      let found;
      if ((found = /^(.+?)eed$/.exec(w))) { if (m0.test(found[1])) w = w.slice(0, -1); }
      else if ((found = /^(.+?)(?:ed|ing)$/.exec(w)) && vowel.test(found[1])) {
        w = found[1];
        if (/(?:at|bl|iz)$/.test(w)) w += "e";
        else if (/([^aeiouylsz])\1$/.test(w)) w = w.slice(0, -1);
        else if (cvc.test(w)) w += "e";
      }
      if ((found = /^(.+?)y$/.exec(w)) && vowel.test(found[1])) w = found[1] + "i";
      w = longest(longest(w, TWO), THREE);
      if ((found = FOUR.exec(w))) { if (m2.test(found[1])) w = found[1]; }
      else if ((found = /^(.+?[st])ion$/.exec(w)) && m2.test(found[1])) w = found[1];
      if ((found = /^(.+?)e$/.exec(w)) && (m2.test(found[1]) || (m1.test(found[1]) && !cvc.test(found[1])))) w = found[1];
      if (/ll$/.test(w) && m2.test(w)) w = w.slice(0, -1);
      return w.toLowerCase();
    };
  })();

  const stems = new Map();
  const stem = (word) => {
    let found = stems.get(word);
    if (found === undefined) stems.set(word, (found = porter(word)));
    return found;
  };

  const fold = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/’/g, "'");
  const surface = (found) => GREEK[found] ?? found.replace(/'s$/, "");

  // The words of a text as stems. A name such as dot_product is one word, and its parts are words after it.
  const words = (text, seen) => {
    const out = [];
    for (const [found] of fold(text).matchAll(WORD)) {
      const word = surface(found);
      seen?.(word);
      if (STOP.has(word)) continue;
      out.push(stem(word));
      if (word.includes("_")) for (const part of word.split("_")) if (part.length > 1) out.push(stem(part));
    }
    return out;
  };

  const unnumbered = (heading) => heading.replace(/^\d+[a-z]?(?:\.\d+)* /, "");

  // --- what is said in several ways --------------------------------------------------------------

  // Names of one thing, then, in a second list, what is close to it and where the book may say it.
  const SAME = [
    [["bpe", "byte pair encoding", "byte pair"]],
    [["top p", "nucleus sampling", "nucleus"]],
    [["rope", "rotary position embedding", "rotary positional encoding", "rotary positions", "rotary"]],
    [["sqrt d_k", "sqrt dk", "square root d_k", "square root dk", "root d_k", "scaled dot product attention", "scaled dot product"], ["score divided"]],
    [["kv cache", "key value cache"], ["cache"]],
    [["grpo", "group relative policy optimization"]],
    [["ppo", "proximal policy optimization"]],
    [["dpo", "direct preference optimization"], ["preference optimization"]],
    [["rlhf", "reinforcement learning human feedback"], ["learning human feedback", "reinforcement learning", "policy optimization"]],
    [["pretraining", "pre training", "train language model", "training language model"]],
    [["sft", "supervised fine tuning"], ["instruction tuning", "fine tuning"]],
    [["instruction tuning"], ["fine tuning"]],
    [["finetuning", "fine tuning", "finetune", "fine tune"]],
    [["lora", "low rank adaptation"]],
    [["moe", "mixture experts"]],
    [["ssm", "state space model", "state space"], ["mamba"]],
    [["mha", "multi head attention", "multihead attention"]],
    [["gqa", "grouped query attention"], ["sharing keys values"]],
    [["mqa", "multi query attention"], ["sharing keys values"]],
    [["mla", "multi head latent attention", "latent attention"]],
    [["causal mask", "look ahead mask", "autoregressive mask"], ["seeing future", "causality"]],
    [["flash attention", "flashattention"]],
    [["layer norm", "layernorm", "layer normalization"]],
    [["rms norm", "rmsnorm"]],
    [["batch norm", "batchnorm", "batch normalization"]],
    [["ffn", "feed forward network", "feed forward", "feedforward"]],
    [["mlp", "multi layer perceptron"], ["feed forward network", "neural network"]],
    [["rnn", "recurrent neural network", "recurrent network"], ["recurrence"]],
    [["lstm", "long short term memory"]],
    [["gru", "gated recurrent unit"]],
    [["cnn", "convolutional network"], ["convolution"]],
    [["sgd", "stochastic gradient descent"], ["gradient descent"]],
    [["backprop", "backpropagation", "back propagation"]],
    [["autodiff", "automatic differentiation"], ["differentiator", "autograd"]],
    [["kl", "kl divergence", "kullback leibler", "relative entropy"]],
    [["nll", "negative log likelihood"], ["cross entropy"]],
    [["mle", "maximum likelihood"]],
    [["ppl", "perplexity"]],
    [["bpb", "bits per byte"]],
    [["svd", "singular value decomposition"], ["singular values"]],
    [["pca", "principal component analysis", "principal components"]],
    [["sae", "sparse autoencoder"]],
    [["mlm", "masked language model"]],
    [["eos", "end of sequence"], ["special tokens"]],
    [["learning rate", "lr"], ["step size"]],
    [["warmup", "warm up"]],
    [["residual stream", "residual connection", "skip connection"]],
    [["chinchilla"], ["twenty tokens per parameter", "compute optimal"]],
    [["scaling law"], ["power law"]],
    [["quantization", "quantize"], ["int8", "int4", "eight bits", "fewer bytes"]],
    [["mixed precision", "fp16", "bf16", "low precision", "half precision"]],
    [["gradient checkpointing", "activation checkpointing"], ["keep less"]],
    [["ddp", "data parallel"], ["processes"]],
    [["weight tying", "tied weights", "tied embeddings"]],
    [["positional encoding", "position embedding", "position encoding", "positional embedding"]],
    [["encoder decoder"], ["cross attention"]],
    [["reward hacking", "overoptimization", "goodhart"]],
    [["reward model", "preference model"], ["bradley terry"]],
    [["beam search"], ["beams"]],
    [["cot", "chain of thought"]],
    [["flops", "flop", "floating point operations"]],
    [["word2vec", "skip gram"], ["word vectors"]],
    [["dedup", "deduplication", "duplicates"], ["same text twice", "minhash"]],
    [["superposition"], ["more features than dimensions"]],
    [["logit lens"], ["lens"]],
    [["paged attention", "pagedattention"], ["paged cache", "memory pages"]],
    [["continuous batching", "dynamic batching"]],
    [["speculative decoding", "speculative sampling"], ["draft verify", "draft token"]],
    [["mup", "maximal update parametrization"]],
  ].map((lists) => [0, 1].map((i) => (lists[i] ?? []).map((phrase) => words(phrase))));

  // --- the index -------------------------------------------------------------------------------

  const K1 = 1.4, B = 0.55;                             // BM25: how fast counts saturate, how much length matters
  const TITLE = 2.2, HEADING = 5.5, LOWER = 4, ABOVE = 2.2; // a word in the title of the page, in a heading, in one below it, in one above
  const PAGE = 0.6, PAGE_K = 8;                        // what the whole page is about
  const NAMED = 0.6, FIRST = 0.4;                       // a page whose title has what is asked for, or begins with it
  const PRIOR = { chapter: 1, appendix: 0.75, other: 0.5, guide: 0.45, glossary: 0.42, list: 0.3, references: 0.3, api: 0.3, claims: 0.25 };
  const MINOR = [[/^(?:short )?exercises|^project|^an open question/i, 0.55], [/^in the package/i, 0.45], [/^summary/i, 0.7], [/^limits of/i, 0.7]];
  const LITERAL = 6;                                    // the name of a claim or of a function, as typed
  const EARLY = 0.25;                                   // a word is introduced before it is used
  const APART = 0.65;                                   // words of a phrase that stand apart
  const NAMES = 0.95, NEAR = 0.75;                      // another name for the same thing, something close to it

  function engine(index) {
    const steps = building(index);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  }

  // The same, without holding up the page: a slice of some milliseconds, then a breath.
  async function engineInSlices(index, slice = 12) {
    const steps = building(index);
    for (let from = performance.now(); ; ) {
      const { done, value } = steps.next();
      if (done) return value;
      if (performance.now() - from < slice) continue;
      await new Promise((go) => setTimeout(go));
      from = performance.now();
    }
  }

  function* building(index) {
    const pages = index.pages.map((page, at) => ({ ...page, at, prior: PRIOR[page.kind] }));
    const sections = [], vocabulary = new Map(), postings = new Map(), titles = [];
    let total = 0;
    const count = (counts, list, weight) => { for (const word of list) counts.set(word, (counts.get(word) ?? 0) + weight); };

    const add = (page, [headings, address, text]) => {
      const heading = headings.at(-1) ?? page.title, above = headings.slice(0, -1).map(unnumbered);
      const counts = new Map(), own = words(text, spell), head = words(unnumbered(heading), spell), up = words(above.join(" / "));
      const section = { at: sections.length, page, headings, heading, address, text, own, head, title: titles[page.at], size: own.length };
      section.prior = page.prior * headings.reduce((least, name) => Math.min(least, ...MINOR.filter(([is]) => is.test(unnumbered(name))).map(([, weight]) => weight)), 1);
      sections.push(section);
      total += own.length;
      count(counts, own, 1);
      section.text1 = counts;
      section.fields = [[head, headings.length > 1 ? LOWER : HEADING], [up, ABOVE], [headings.length ? section.title : [], TITLE]];
      const all = new Set(own);
      for (const [list] of section.fields) for (const word of list) all.add(word);
      for (const word of all) postings.get(word)?.push(section) ?? postings.set(word, [section]);
    };
    const spell = (word) => { vocabulary.set(word, (vocabulary.get(word) ?? 0) + 1); };

    for (const page of pages) {
      titles[page.at] = words(unnumbered(page.title));
      for (const row of page.rows) {
        add(page, row);
        yield;
      }
    }
    const mean = total / sections.length;

    // How often a phrase stands in a list of words.
    const occurrences = (list, phrase) => {
      let found = 0;
      for (let i = list.indexOf(phrase[0]); i >= 0; i = list.indexOf(phrase[0], i + 1)) {
        if (phrase.every((word, j) => list[i + j] === word)) found++;
      }
      return found;
    };

    // Weighted count of a phrase in each section that has it, and in each page.
    const memory = new Map();
    const counted = (phrase) => {
      const key = phrase.join(" ");
      if (memory.has(key)) return memory.get(key);
      const lists = phrase.map((word) => postings.get(word) ?? []);
      const shortest = lists.reduce((a, b) => (b.length < a.length ? b : a));
      const found = new Map(), inPage = new Map();
      for (const section of shortest) {
        const inText = phrase.length > 1 ? occurrences(section.own, phrase) : section.text1.get(phrase[0]) ?? 0;
        let weight = inText / (1 - B + (B * section.size) / mean);
        for (const [list, times] of section.fields) weight += times * Math.min(1, occurrences(list, phrase));
        if (weight > 0) found.set(section, weight);
        if (inText) inPage.set(section.page, (inPage.get(section.page) ?? 0) + inText);
      }
      const idf = Math.log(1 + (sections.length - found.size + 0.5) / (found.size + 0.5));
      const result = { found, inPage, idf };
      memory.set(key, result);
      return result;
    };

    const saturate = (weight, k) => (weight * (k + 1)) / (weight + k);

    // Scores of one thing that is asked for: the best of the ways to say it.
    const scored = (ways) => {
      const best = new Map(), bestPage = new Map();
      const keep = (map) => (at, value) => { if (value > (map.get(at) ?? 0)) map.set(at, value); };
      const rank = keep(best), rankPage = keep(bestPage);
      let idf = 0;
      for (const { phrase, weight } of ways) {
        const main = counted(phrase);
        if (weight === 1 || !idf) idf = Math.max(idf, main.found.size ? main.idf : 0);
        for (const [section, count] of main.found) rank(section, weight * main.idf * saturate(count, K1));
        for (const [page, count] of main.inPage) rankPage(page, weight * main.idf * saturate(count, PAGE_K));
        if (phrase.length > 1 && weight === 1) {
          const apart = new Map(), share = 1 / phrase.length;
          const note = (at, value) => { const [sum, seen] = apart.get(at) ?? [0, 0]; apart.set(at, [sum + value, seen + share]); };
          for (const word of phrase) {
            const single = counted([word]);
            for (const [section, count] of single.found) note(section, single.idf * saturate(count, K1));
            for (const [page, count] of single.inPage) note(page, share * single.idf * saturate(count, PAGE_K));
          }
          for (const [at, [sum, seen]] of apart) (at.own ? rank : rankPage)(at, APART * sum * seen ** 2);
        }
      }
      return { best, bestPage, idf };
    };

    // --- a query ---------------------------------------------------------------------------------

    const distance = (a, b, most) => {
      if (Math.abs(a.length - b.length) > most) return most + 1;
      let before = Array.from({ length: b.length + 1 }, (_, j) => j), row, older;
      for (let i = 1; i <= a.length; i++) {
        row = [i];
        for (let j = 1; j <= b.length; j++) {
          row[j] = Math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] !== b[j - 1]));
          if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], older[j - 2] + 1);
        }
        [older, before] = [before, row];
      }
      return before[b.length];
    };

    const frequent = (list, most) => list.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, most).map(([word]) => word);
    const beginning = (start) => frequent([...vocabulary].filter(([word]) => word.startsWith(start) && word !== start), 12);
    const near = (word) => {
      const most = word.length < 4 ? 0 : word.length < 8 ? 1 : 2;
      for (let d = 1; d <= most; d++) {
        const found = [...vocabulary].filter(([other]) => other[0] === word[0] && other.length > 2 && distance(word, other, d) <= d);
        if (found.length) return frequent(found, 3);
      }
      return [];
    };

    // What is asked for: each a list of ways to say it.
    const wanted = (query) => {
      const typed = [...fold(query).matchAll(WORD)].map(([found]) => surface(found));
      const open = /[\p{L}\p{N}]$/u.test(query);        // the last word may go on
      // a name that the book has stands for itself, and stopwords alone for themselves
      let list = typed.flatMap((word) => (word.includes("_") && postings.has(word) ? [word] : words(word)));
      if (!list.length) list = typed.map(stem);
      const slots = [], corrected = [];
      for (let i = 0; i < list.length; ) {
        let length = 0;
        for (const [names] of SAME) for (const name of names) {
          if (name.length > length && name.every((word, j) => list[i + j] === word)) length = name.length;
        }
        if (length) {
          const own = list.slice(i, i + length), key = own.join(" ");
          const is = (name) => name.join(" ") === key, groups = SAME.filter(([names]) => names.some(is));
          const other = (at, weight) => groups.flatMap((lists) => lists[at]).filter((name) => !is(name)).map((phrase) => ({ phrase, weight }));
          slots.push([{ phrase: own, weight: 1 }, ...other(0, NAMES), ...other(1, NEAR)]);
          i += length;
          continue;
        }
        const word = list[i], ways = [{ phrase: [word], weight: 1 }];
        const last = i === list.length - 1 && typed.at(-1);
        if (last && open && last.length > 1) for (const longer of beginning(last)) ways.push({ phrase: [stem(longer)], weight: 0.6 });
        if (!ways.some(({ phrase }) => postings.has(phrase[0]))) {
          const raw = typed.find((one) => stem(one) === word) ?? word, like = near(raw);
          if (like.length) corrected.push([raw, like[0]]);
          ways.push(...like.map((other, rank) => ({ phrase: [stem(other)], weight: 0.8 - 0.1 * rank })));
        }
        slots.push(ways);
        i++;
      }
      return { slots, list, corrected };
    };

    function find(query, { most = 10, each = 3 } = {}) {
      const { slots, list, corrected } = wanted(query);
      if (!slots.length) return { pages: [], corrected, total: 0 };
      const parts = slots.map(scored);
      const mass = parts.reduce((sum, part) => sum + part.idf, 0) || 1;
      const scores = new Map();
      for (const part of parts) for (const [section, value] of part.best) {
        const seen = scores.get(section) ?? { value: 0, mass: 0 };
        seen.value += value;
        seen.mass += part.idf;
        scores.set(section, seen);
      }
      // neighbors in the query that are neighbors in the text
      for (let i = 0; i + 1 < list.length; i++) {
        const pair = counted(list.slice(i, i + 2));
        for (const [section, count] of pair.found) if (scores.has(section)) scores.get(section).value += 0.6 * pair.idf * saturate(count, K1);
      }
      const asked = list.join(" "), groups = new Map();
      for (const [section, seen] of scores) {
        const head = section.head.join(" "), title = section.title.join(" ");
        let value = seen.value * (seen.mass / mass) ** 1.5;
        if (head === asked) value *= section.page.kind === "claims" ? LITERAL : 1.5;
        if (section.page.kind === "api" && asked.includes("_") && section.head.includes(asked)) value *= LITERAL;
        if (title === asked && !section.headings.length) value *= 1.3;
        value *= section.prior;
        groups.get(section.page)?.push([value, section]) ?? groups.set(section.page, [[value, section]]);
      }
      const ranked = [...groups].map(([page, found]) => {
        found.sort((a, b) => b[0] - a[0] || a[1].at - b[1].at);
        const about = parts.reduce((sum, part) => sum + (part.bestPage.get(page) ?? 0), 0);
        const covered = parts.reduce((sum, part) => sum + (part.bestPage.has(page) ? part.idf : 0), 0) / mass;
        const named = parts.reduce((sum, part, k) => sum + (slots[k].some(({ phrase }) => occurrences(titles[page.at], phrase)) ? part.idf : 0), 0) / mass;
        const first = asked === titles[page.at].slice(0, list.length).join(" ") ? FIRST : 0;
        const value = (1 + NAMED * named + first) * (found[0][0] + 0.25 * (found[1]?.[0] ?? 0) + 0.12 * (found[2]?.[0] ?? 0) + PAGE * about * covered * page.prior) * (1 + (EARLY * (pages.length - page.at)) / pages.length);
        return { page, value, found };
      }).sort((a, b) => b.value - a.value || a.page.at - b.page.at);
      const phrases = slots.flat().flatMap(({ phrase, weight }) => (weight === 1 ? [phrase, ...phrase.map((word) => [word])] : [phrase]));
      return {
        corrected,
        total: ranked.length,
        pages: ranked.slice(0, most).map(({ page, value, found }) => ({
          name: page.name, title: page.title, kind: page.kind, value,
          sections: found.filter(([score]) => score > 0.3 * found[0][0]).slice(0, each).map(([score, section]) => ({
            headings: section.headings, address: section.address, value: score, snippet: snippet(section.text, phrases),
          })),
        })),
      };
    }

    return { find, words, stem: porter, size: { pages: pages.length, sections: sections.length, words: vocabulary.size } };
  }

  // --- the line that is shown ------------------------------------------------------------------

  const LONG = 170;

  // Pieces of a text around what was found, each [text, whether it was found].
  function snippet(text, phrases) {
    const all = [...text.matchAll(WORD)].map((found) => ({ from: found.index, to: found.index + found[0].length, own: words(found[0]) })).filter(({ own }) => own.length);
    const hits = [];
    all.forEach((word, i) => {
      for (const phrase of phrases) {
        if (!phrase.every((part, j) => all[i + j]?.own.includes(part))) continue;
        phrase.forEach((part, j) => { all[i + j].is = part; });
      }
    });
    for (const word of all) if (word.is) hits.push(word);
    let best = { from: 0, value: -1 };
    for (let i = 0; i < hits.length; i++) {
      const inside = hits.slice(i, i + 12).filter((hit) => hit.to <= hits[i].from + LONG - 40);
      const value = 3 * new Set(inside.map((hit) => hit.is)).size + Math.min(inside.length, 4) * 0.5;
      if (value > best.value) best = { from: hits[i].from, value };
    }
    let from = Math.max(0, best.from - 45);
    const sentence = text.slice(from, best.from).search(/[.?!:] (?=\S)/);
    if (from > 0) from = sentence >= 0 ? from + sentence + 2 : text.indexOf(" ", from) + 1;
    let to = Math.min(text.length, from + LONG);
    if (to < text.length) to = Math.max(text.lastIndexOf(" ", to), from + LONG - 40);
    const pieces = from > 0 ? [["… ", false]] : [];
    let at = from;
    for (const hit of hits.filter((one) => one.from >= from && one.to <= to)) {
      if (hit.from > at) pieces.push([text.slice(at, hit.from), false]);
      pieces.push([text.slice(hit.from, hit.to), true]);
      at = hit.to;
    }
    if (at < to) pieces.push([text.slice(at, to), false]);
    if (to < text.length) pieces.push([" …", false]);
    return pieces;
  }

  Object.assign(mathlmSearch, { engine, engineInSlices, stem: porter, words });
  if (typeof module !== "undefined") module.exports = mathlmSearch;
})();
