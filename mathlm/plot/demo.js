(() => {
  const start = (root) => {
    const state = JSON.parse(root.dataset.state);
    const all = (name) => [...root.querySelectorAll(`[data-name="${name}"]`)];
    const one = (name, i = 0) => all(name)[i];
    const text = (name, value, i = 0) => { one(name, i).textContent = value; };
    const bar = (name, share, i = 0) => {
      one(name, i).firstChild.style.width = `${100 * share}%`;
    };
    const fixed = (x, digits) =>
      x.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");
    NUMBERS
    const valid = (e) => {
      const v = e.validity;
      return !v || !(v.badInput || v.valueMissing || v.rangeUnderflow || v.rangeOverflow);
    };
    const numbers = (name) => all(name).map((e) => valid(e) ? e.valueAsNumber : NaN);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const changed = (draw) => root.addEventListener("input", () => {
      const inputs = [...root.querySelectorAll("input")];
      inputs.forEach((e) => e.setAttribute("aria-invalid", String(!valid(e))));
      if (inputs.every(valid)) draw();
    });
    const reset = (draw) => all("reset").forEach((b) => b.addEventListener("click", () => {
      root.querySelectorAll("input").forEach((e) => {
        e.value = e.defaultValue;
        e.removeAttribute("aria-invalid");
      });
      root.querySelectorAll("select").forEach((e) => {
        e.selectedIndex = [...e.options].findIndex((o) => o.defaultSelected);
      });
      draw();
    }));
    KIT
    BODY
    root.dataset.ready = "";
  };
  document.querySelectorAll('.mathlm-demo[data-demo="KIND"]:not([data-ready])').forEach(start);
})();
