const draw = () => {
  const chosen = one("text").value;
  all("panel").forEach((panel, i) => { panel.hidden = String(i) !== chosen; });
};
one("ids").addEventListener("click", () => {
  const on = one("ids").getAttribute("aria-pressed") !== "true";
  one("ids").setAttribute("aria-pressed", String(on));
  root.toggleAttribute("data-ids", on);
});
changed(draw);
draw();
