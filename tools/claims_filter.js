// The filter above the table of corrections: it only hides rows, so that without it the table is whole.
(() => {
  const form = document.querySelector(".claims-filter");
  const rows = [...document.querySelector(".claims-table").tBodies[0].rows];
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const value = (row, select) => {
    const text = row.cells[+select.dataset.column].textContent.trim();
    return select.name === "source" ? text.slice(0, 3) : text;
  };
  // titles in the order of the book: addresses begin with the number of the chapter
  const link = (row) => row.querySelector("td:last-child a");
  const page = new Map(rows.map((row) => [link(row).textContent.trim(), link(row).getAttribute("href")]));
  const selects = [...form.querySelectorAll("select")];
  for (const select of selects) {
    const values = [...new Set(rows.map((row) => value(row, select)))].filter(Boolean);
    if (select.name === "severity") values.sort().reverse();
    if (select.name === "chapter") values.sort((a, b) => (page.get(a) < page.get(b) ? -1 : 1));
    for (const name of values) select.add(new Option(name));
  }
  const show = () => {
    const wanted = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const fits = selects.every((select) => !select.value || value(row, select) === select.value);
      row.hidden = !fits || !wanted.every((word) => words.get(row).includes(word));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    form.querySelector("output").textContent = `${shown} of ${rows.length}`;
  };
  // a link to a row that is filtered out shows all rows
  const reset = () => document.getElementById(location.hash.slice(1))?.hidden && (form.reset(), show());
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", reset);
  form.hidden = false;
  show();
})();
