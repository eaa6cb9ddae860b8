// The field of the search and its results. Engine and index are loaded when somebody searches, as
// scripts, which a browser also takes from a file.
(() => {
  "use strict";
  const here = new URL(".", document.currentScript.src), root = new URL("../../", here);
  const MOST = { dialog: 6, page: 20 }, WAIT = 90; // [ms] after the last letter

  const make = (tag, properties, ...inside) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  };
  const script = (name) => new Promise((done, failed) => {
    document.head.append(make("script", { src: new URL(name, here).href, charset: "utf-8", onload: done, onerror: failed }));
  });
  let engine;
  const ready = () => (engine ??= script("engine.js").then(() => script("index.js"))
    .then(() => globalThis.mathlmSearch.engineInSlices(globalThis.mathlmSearchIndex)));

  const marked = (pieces) => pieces.map(([text, found]) => (found ? make("mark", {}, text) : text));
  const address = (page, { address: anchor } = {}) => new URL(`${page.name}.html${anchor ? `#${anchor}` : ""}`, root).href;

  const section = (page, found) => make("li", {}, make("a", { href: address(page, found) },
    ...(found.headings.length ? [found.headings.join(" › ")] : []),
    make("span", { className: "line" }, ...marked(found.snippet))));
  const entry = (page) => make("li", {},
    make("a", { href: address(page), className: "page" }, page.title),
    make("ul", {}, ...page.sections.map((found) => section(page, found))));

  const said = (query, { pages, total, corrected }) => {
    const other = corrected.map(([typed, like]) => `No page has “${typed}”; these have “${like}”. `).join("");
    if (!pages.length) return `Nothing was found for “${query}”. Fewer or other words may help.`;
    return other + (total > pages.length ? `The ${pages.length} best of ${total} pages` : `${total} page${total > 1 ? "s" : ""}`);
  };

  // One field, and the box below it that holds what was found.
  const attach = (field, box, most) => {
    const status = make("p", {}), list = make("ol", {});
    status.setAttribute("role", "status");
    box.classList.add("book-search");
    let timer, latest = 0;

    const show = async () => {
      const query = field.value.trim(), turn = ++latest;
      if (!query) return box.replaceChildren();
      if (!box.childElementCount) box.replaceChildren(status, list);
      try {
        if (!list.childElementCount) status.textContent = "Searching …";
        const found = (await ready()).find(field.value, { most });
        if (turn !== latest) return; // somebody typed on
        status.textContent = said(query, found);
        list.replaceChildren(...found.pages.map(entry));
      } catch {
        status.textContent = "The index of the search could not be loaded.";
      }
    };
    const links = () => [...list.querySelectorAll("a")];
    const walk = (event) => {
      const all = links(), at = all.indexOf(document.activeElement), step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || !all.length || (at < 0 && step < 0)) return;
      event.preventDefault();
      (at + step < 0 ? field : all[Math.min(at + step, all.length - 1)]).focus();
    };

    field.addEventListener("focus", () => ready().catch(() => {}), { once: true });
    field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, WAIT); });
    for (const element of [field, box]) element.addEventListener("keydown", walk);
    if (field.value) show();
    return show;
  };

  const start = () => {
    const dialog = document.getElementById("pst-search-dialog"), inDialog = dialog?.querySelector("input[name=q]");
    if (inDialog) {
      const box = make("div", {});
      dialog.append(box);
      attach(inDialog, box, MOST.dialog);
      box.addEventListener("click", (event) => event.target.closest("a") && dialog.close()); // it may lead to this page
    }
    const results = document.getElementById("search-results"), field = document.querySelector(".bd-search-container input[name=q]");
    if (!results || !field) return;
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    const show = attach(field, results, MOST.page);
    field.form.addEventListener("submit", (event) => {
      event.preventDefault();
      history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`);
      show();
    });
    field.focus();
  };
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", start) : start();
})();
