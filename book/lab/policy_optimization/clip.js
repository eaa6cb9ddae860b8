const draw = () => {
  const rho = Number(one("rho").value) / 100, A = Number(one("sign").value) ? -1 : 1;
  const eps = Number(one("clip").value) / 100;
  const cut = Math.min(1 + eps, Math.max(1 - eps, rho));
  const gain = Math.min(rho * A, cut * A);
  const flat = A > 0 ? rho > 1 + eps : rho < 1 - eps;
  const x = (r) => 160 * r, y = (g) => A > 0 ? 190 - 90 * g : 10 - 90 * g;
  const line = [];
  for (let i = 0; i <= 100; i++) {
    const r = i / 50, c = Math.min(1 + eps, Math.max(1 - eps, r));
    line.push(`${x(r).toFixed(1)},${y(Math.min(r * A, c * A)).toFixed(1)}`);
  }
  one("line").setAttribute("points", line.join(" "));
  one("dot").setAttribute("cx", x(rho).toFixed(1));
  one("dot").setAttribute("cy", y(gain).toFixed(1));
  text("rho-value", fixed(rho, 2));
  text("clip-value", fixed(eps, 2));
  text("plain", fixed(rho * A, 2));
  text("gain", fixed(gain, 2));
  text("pull", flat ? "none, the sample is cut" : A > 0 ? "up" : "down");
};
changed(draw);
reset(draw);
draw();
