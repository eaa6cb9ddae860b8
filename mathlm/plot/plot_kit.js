const { drawn, picture, player } = (() => {
  const tint = (color) => `var(--${color || "accent"})`;
  const px = (v) => (v + 1e-6).toFixed(1);
  const tag = (name, attributes, inside = "") => `<${name} ${Object.entries(attributes)
    .map(([k, v]) => `${k}="${v}"`).join(" ")}>${inside}</${name}>`;
  const escaped = (words) => String(words).replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const decades = (a, b, room) => {
    const low = Math.ceil(Math.log10(a) - 1e-9), high = Math.floor(Math.log10(b) + 1e-9);
    const by = Math.ceil((high - low + 1) / room), plain = a > 9e-4 && b < 2e4, found = [];
    for (let k = low; k <= high; k++) {
      const name = plain ? grouped(10 ** k, Math.max(0, -k)) : "10" + raised(k);
      if (k % by === 0) found.push([10 ** k, name]);
    }
    return found;
  };
  const ticksOf = (axis, length, each) => {
    if (axis.ticks) return axis.ticks;
    const [a, b] = [...axis.range].sort((p, q) => p - q);
    const room = Math.max(2, Math.floor(length / each));
    if (axis.log) return decades(a, b, room);
    const raw = (b - a) / room, p = 10 ** Math.floor(Math.log10(raw) + 1e-9);
    const step = p * [1, 2, 5, 10].find((m) => m * p >= raw * (1 - 1e-9)), found = [];
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    for (let k = Math.ceil(a / step - 1e-9); k <= Math.floor(b / step + 1e-9); k++) {
      found.push([k * step, grouped(k * step, digits)]);
    }
    return found;
  };
  const along = (axis, from, to) => {
    const t = (v) => v === null ? NaN : axis.log ? Math.log10(v) : v, [a, b] = axis.range.map(t);
    return [(v) => from + (to - from) * (t(v) - a) / (b - a), (p) => {
      const v = a + (b - a) * (p - from) / (to - from);
      return axis.log ? 10 ** v : v;
    }];
  };
  const path = (points) => {
    let pen = "M";
    return points.map(([u, v]) => {
      const there = Number.isFinite(u) && Number.isFinite(v), now = pen;
      pen = there ? "L" : "M";
      const near = (z) => Math.max(-9999, Math.min(9999, z));
      return there ? `${now}${px(near(u))} ${px(near(v))}` : "";
    }).join("");
  };
  const shapes = {
    line: (m, p) => tag("path", {d: path(p), fill: "none", stroke: tint(m.color),
      "stroke-width": m.width || 2.5, "stroke-linejoin": "round", opacity: m.fade || 1,
      ...(m.dash ? {"stroke-dasharray": m.dash} : {})}),
    area: (m, p) => tag("path",
      {d: path(p) + "Z", fill: tint(m.color), "fill-opacity": m.fade || 1}),
    dots: (m, p) => p.map(([u, v]) => tag("circle", {cx: px(u), cy: px(v), r: m.size || 5,
      fill: tint(m.color), opacity: m.fade || 1})).join(""),
    text: (m, p) => {
      if (m.room && Math.abs(p[1][0] - p[0][0]) < 7 * m.text.length + 2) return "";
      return tag("text", {x: px(p[0][0] + (m.dx || 0)), y: px(p[0][1] + (m.dy || 0)),
        "text-anchor": m.anchor || "start", fill: tint(m.color || "fg"), "font-size": m.size || 12,
        "font-weight": m.weight || 400, "paint-order": "stroke", stroke: tint("bg"),
        "stroke-width": m.halo === undefined ? 3 : m.halo}, escaped(m.text));
    },
    arrow: (m, [a, b]) => {
      const w = [b[0] - a[0], b[1] - a[1]], n = Math.hypot(...w);
      const k = Math.min(10, n / 2) / (n || 1), side = [-k * w[1] / 2, k * w[0] / 2];
      const back = [b[0] - k * w[0], b[1] - k * w[1]];
      const head = [b, ...[1, -1].map((s) => back.map((v, i) => v + s * side[i]))];
      return shapes.line(m, [a, back]) + shapes.area({...m, fade: 1}, head);
    },
    boxes: (m, p) => m.at.map((_, i) => {
      const [[u, v], [s, t]] = [p[2 * i], p[2 * i + 1]], gap = m.gap || 0;
      const one = (list, other) => Array.isArray(list) ? list[i] : list ?? other;
      const size = (z) => px(Math.max(0.5, Math.abs(z) - gap));
      return tag("rect", {x: px(Math.min(u, s) + gap / 2), y: px(Math.min(v, t) + gap / 2),
        width: size(s - u), height: size(t - v),
        fill: tint(one(m.color)), "fill-opacity": one(m.fade, 1),
        ...(m.edge ? {stroke: tint(m.edge), "stroke-width": 1.5} : {})});
    }).join(""),
  };
  const drawn = (spec, width) => {
    const {x, y} = spec, bare = (axis) => axis.bare === true;
    const tall = Math.min(spec.tallest || 340, Math.max(170, (spec.aspect || 0.6) * width));
    const top = y.label ? 24 : 10, bottom = (bare(x) ? 6 : 22) + (x.label ? 18 : 0);
    const rows = bare(y) ? [] : ticksOf(y, tall - top - bottom, spec.equal ? 40 : 34);
    const wide = Math.max(0, ...rows.map(([, t]) => t.length));
    const left = bare(y) ? 6 : 12 + 7 * wide, right = bare(x) ? 6 : 16;
    let w = width - left - right, h = tall - top - bottom;
    if (spec.equal) {
      const dx = Math.abs(x.range[1] - x.range[0]), dy = Math.abs(y.range[1] - y.range[0]);
      const unit = Math.min(w / dx, ((spec.tallest || 340) - top - bottom) / dy);
      [w, h] = [unit * dx, unit * dy];
    }
    const columns = bare(x) ? [] : ticksOf(x, w, spec.equal ? 40 : 64);
    const [fx, bx] = along(x, 0, w), [fy, by] = along(y, h, 0);
    const at = (p) => [fx(p[0]), fy(p[1])];
    const thin = (zero) => ({stroke: tint(zero ? "soft" : "line"), "stroke-width": 1});
    const lined = (axis) => ([v]) => !axis.ticks || v === 0;
    const rule = (v, ends) => tag("line", {...ends, ...thin(v === 0)});
    const grid = columns.filter(lined(x)).map(([v]) =>
      rule(v, {x1: px(fx(v)), y1: 0, x2: px(fx(v)), y2: px(h)}))
      .concat(rows.filter(lined(y)).map(([v]) =>
        rule(v, {x1: 0, y1: px(fy(v)), x2: px(w), y2: px(fy(v))})));
    const word = (u, v, anchor, t, more = {}) => tag("text", {x: px(u), y: px(v),
      "text-anchor": anchor, "font-size": 12, fill: tint("soft"), ...more}, escaped(t));
    const names = columns.map(([v, t]) => word(left + fx(v), top + h + 16, "middle", t))
      .concat(rows.map(([v, t]) => word(left - 6, top + fy(v) + 4, "end", t)));
    const below = top + h + (bare(x) ? 16 : 34), dark = {fill: tint("fg")};
    if (x.label) names.push(word(left + w / 2, below, "middle", x.label, dark));
    if (y.label) names.push(word(Math.min(left, 4), 13, "start", y.label, dark));
    const places = (m) => {
      if (m.kind === "boxes") return m.at.flatMap(([a, b, c, d]) => [at([a, b]), at([c, d])]);
      return (m.room ? [m.at[0], [m.at[0][0] + m.room, m.at[0][1]]] : m.at).map(at);
    };
    const marks = spec.marks.filter((m) => !(m.least > width))
      .map((m) => shapes[m.kind](m, places(m)));
    const frame = bare(x) && bare(y) ? "" : tag("rect", {x: px(left), y: px(top), width: px(w),
      height: px(h), fill: "none", stroke: tint("line")});
    return {width: w + left + right, height: top + h + bottom,
      at: (p) => [left + fx(p[0]), top + fy(p[1])], from: ([u, v]) => [bx(u - left), by(v - top)],
      body: frame + tag("svg", {x: px(left), y: px(top), width: px(w), height: px(h),
        overflow: "hidden"}, grid.join("") + marks.join("")) + names.join("")};
  };
  const picture = (name) => {
    const box = one(name), grips = [];
    let spec = null, width = 0, view = null;
    box.innerHTML = '<svg role="img"><g></g><g></g></svg>';
    const svg = box.firstChild, [back, front] = svg.children;
    const set = (e, list) => Object.entries(list).forEach(([k, v]) => e.setAttribute(k, v));
    const render = () => {
      width = Math.floor(box.clientWidth);
      view = drawn(spec, Math.min(width || 360, spec.widest || 760));
      set(svg, {viewBox: `0 0 ${px(view.width)} ${px(view.height)}`, width: px(view.width),
        height: px(view.height), "aria-label": spec.says || box.dataset.label});
      back.innerHTML = view.body;
      grips.forEach(([g, grip]) => {
        const p = grip.at(), [u, v] = view.at(p);
        set(g, {transform: `translate(${px(u)} ${px(v)})`});
        if (!grip.choose) set(g, {"aria-valuenow": Math.round(1000 * p[0]) / 1000,
          "aria-valuetext": grip.says ? grip.says() : p.map((z) => fixed(z, 2)).join(", ")});
      });
    };
    new ResizeObserver(() => {
      if (spec && Math.floor(box.clientWidth) !== width) render();
    }).observe(box);
    return {show(next) { spec = next; render(); }, handle(grip) {
      const g = document.createElementNS(svg.namespaceURI, "g"), by = [grip.step || 0.1].flat();
      const step = [by[0], by[by.length - 1]];
      const clip = (v, i) => {
        const ends = (i ? spec.y : spec.x).range, low = Math.min(...ends), high = Math.max(...ends);
        return Math.min(high, Math.max(low, Math.round(v / step[i]) * step[i]));
      };
      const go = (p) => grip.move(p.map(clip));
      let held = false;
      svg.setAttribute("role", "group");
      if (grip.choose) {
        set(g, {class: "spot", role: "button", "aria-label": grip.label});
        g.innerHTML = '<circle r="9" fill="transparent"></circle>';
        ["click", "focus", "mouseenter"].forEach((n) => g.addEventListener(n, grip.choose));
        g.addEventListener("keydown", (e) => {
          const d = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
          if (d) { e.preventDefault(); grip.key(d); }
        });
        front.append(g);
        grips.push([g, grip]);
        return g;
      }
      set(g, {class: "grip", tabindex: 0, role: "slider", "aria-label": grip.label});
      g.innerHTML = '<circle r="20" fill="transparent"></circle><circle r="8" '
        + `fill="${tint(grip.color)}" stroke="${tint("bg")}" stroke-width="2"></circle>`;
      g.addEventListener("pointerdown", (e) => {
        held = true;
        g.setPointerCapture(e.pointerId);
        g.focus({preventScroll: true});
        e.preventDefault();
      });
      g.addEventListener("pointermove", (e) => {
        if (!held) return;
        const r = svg.getBoundingClientRect(), k = view.width / r.width;
        go(view.from([(e.clientX - r.left) * k, (e.clientY - r.top) * k]));
      });
      ["pointerup", "pointercancel"].forEach((n) => g.addEventListener(n, () => { held = false; }));
      g.addEventListener("keydown", (e) => {
        const d = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1],
          ArrowDown: [0, -1]}[e.key];
        if (!d) return;
        e.preventDefault();
        const far = e.shiftKey ? 10 : 1;
        if (grip.turn) { grip.turn(far * (d[0] + d[1])); return; }
        go(grip.at().map((v, i) => v + far * d[i] * step[i]));
      });
      front.append(g);
      grips.push([g, grip]);
      if (spec) render();
      return g;
    }};
  };
  const player = (name, begin, tick, pause) => {
    let clock = 0;
    const stop = () => { clearInterval(clock); clock = 0; text(name, "play"); };
    one(name).addEventListener("click", () => {
      if (clock) { stop(); return; }
      begin();
      if (still) { while (tick()); return; }
      text(name, "pause");
      clock = setInterval(() => { if (!tick()) stop(); }, pause);
    });
    return stop;
  };
  return { drawn, picture, player };
})();
