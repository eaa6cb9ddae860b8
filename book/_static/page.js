// Small helps for reading: boxes that scroll say so, long names break at sensible places, claim lines are quiet.
(() => {
  const BOXES = ".bd-article div.highlight pre, .bd-article .pst-scrollable-table-container, .bd-article .cell_output .text_html, div.math, .bd-article span.math, .bd-article figure > a.image-reference";
  const inside = (e) => (e.matches(".math") ? e.querySelector("mjx-container") ?? e : e);

  // Mark what is wider than its box; the keyboard must reach it. MathJax makes its own boxes focusable.
  // All sizes are read before anything is written: each change before a reading is a layout of the page.
  const marked = (boxes) => [...boxes].map((box) => (box.matches("span.math") ? inline(box) : block(box))).forEach((write) => write?.());
  const block = (box) => {
    const e = inside(box), isMath = box.matches("div.math");
    const scrolls = e.scrollWidth > e.clientWidth + 2;
    const kept = isMath && box.classList.contains("scrolls") && tight(box, e);
    return () => {
      box.classList.toggle("scrolls", scrolls || Boolean(kept));
      if (!isMath) scrolls ? (e.tabIndex = 0) : e.removeAttribute("tabindex");
    };
  };
  // A formula in a line of text scrolls only if the whole line is too short for it.
  const inline = (box) => {
    const formula = box.querySelector("mjx-math");
    const line = box.closest("p, li, dd, td, figcaption, h1, h2, h3, h4");
    if (!formula || !line || line.closest("td")) return null;
    const wide = formula.getBoundingClientRect().width > line.clientWidth;
    return () => box.classList.toggle("scrolls", wide);
  };
  // An equation that scrolls gives its number a line of its own; it keeps that line while both would not fit side by side.
  const tight = (box, e) => {
    const number = box.querySelector(".eqno");
    const content = e.firstElementChild?.getBoundingClientRect().width ?? 0;
    return number && content + number.getBoundingClientRect().width + 16 > box.clientWidth;
  };
  const all = () => marked(document.querySelectorAll(BOXES));

  // dot_product_attention_backward may break after a dot, slash, colon or underscore.
  const breakNames = () => {
    for (const span of document.querySelectorAll(".bd-article :not(pre) > code .pre, .bd-article td code")) {
      if (span.childElementCount || span.textContent.length < 12) continue;
      span.replaceChildren(...span.textContent.split(/(?<=[./_:])(?=[^./_:])/).flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
    }
  };

  // A formula and the comma or bracket after it stay on one line.
  const keepTogether = () => {
    for (const math of document.querySelectorAll(".bd-article span.math")) {
      const after = math.nextSibling;
      const marks = after?.nodeType === Node.TEXT_NODE && after.data.match(/^[.,;:!?)\]’”…%]+/);
      if (!marks) continue;
      after.data = after.data.slice(marks[0].length);
      const pair = document.createElement("span");
      pair.className = "keep";
      math.replaceWith(pair);
      pair.append(math, marks[0]);
    }
  };

  // "OPT-2-1 verified: 0.97" is a footnote, not a result.
  const CLAIM = /^(OPT|VOM|AIM|MFP)-\S+ (verified|corrected|remarked): /;
  const quietOutput = () => {
    for (const output of document.querySelectorAll(".cell_output .output.stream")) {
      const text = (output.querySelector("pre") ?? output).textContent;
      const lines = text.trim().split("\n");
      if (lines.every((line) => CLAIM.test(line))) output.classList.add("claims");
    }
    for (const pre of document.querySelectorAll(".cell_output div.highlight pre")) {
      if (!pre.textContent.trim().includes("\n")) pre.classList.add("one-line"); // no columns to keep: it may wrap
    }
  };

  // Paper is white, whatever the screen is.
  const paperIsLight = () => {
    const page = document.documentElement;
    let scheme;
    window.addEventListener("beforeprint", () => { [scheme, page.dataset.theme] = [page.dataset.theme, "light"]; });
    window.addEventListener("afterprint", () => { page.dataset.theme = scheme; });
  };

  const start = () => {
    paperIsLight();
    breakNames();
    keepTogether();
    quietOutput();
    const size = new ResizeObserver((entries) => marked(entries.map((entry) => entry.target)));
    document.querySelectorAll(BOXES).forEach((e) => size.observe(e));
    // formulas are typeset when they come near: each is marked once the page with it has been laid out
    const fresh = new Set();
    const markFresh = () => {
      marked([...fresh].filter((e) => e.closest(BOXES)));
      fresh.clear();
    };
    const typeset = new MutationObserver((changes) => {
      const known = fresh.size;
      changes.forEach((c) => c.target.closest?.(".math") && fresh.add(c.target.closest(".math")));
      if (!known && fresh.size) requestAnimationFrame(() => setTimeout(markFresh));
    });
    document.querySelectorAll(".bd-article").forEach((e) => typeset.observe(e, { childList: true, subtree: true }));
    window.addEventListener("load", () => window.MathJax?.startup?.promise?.then(all));
    document.addEventListener("toggle", all, true);
  };
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();
