"use strict";
// Draws the plots anew in the width they have, from the data in the page: zoom, cursor, toggles.
// Without this script the page holds the same plots as fixed pictures.
(() => {
  const root = document.documentElement;
  const source = document.getElementById("plot-data");
  const data = JSON.parse(source.textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const times = data.times.map((steps) => {
    let at = 0;
    return steps.map((step) => (at += step) / 1000);
  });
  let zoom = null; // [from, to] in seconds, shared by all plots over time
  const plots = [];

  // ---- numbers as words: the same rules as in the page's tables
  const trimmed = (v) => String(+v.toFixed(3));
  const scaled = (v, units, by) => {
    let place = 0;
    while (Math.abs(v) >= by * 0.9999 && place + 1 < units.length) { v /= by; place++; }
    return [v, units[place]];
  };
  const digits = (v) => {
    if (v === 0) return "0";
    if (Math.abs(v) >= 999.5) return String(Math.round(v)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return v.toPrecision(3).includes("e") ? v.toExponential(2) : v.toPrecision(3);
  };
  const seconds = (v) => v < 1e-6 ? [v * 1e9, " ns"] : v < 0.9999e-3 ? [v * 1e6, " us"]
    : v < 0.9999 ? [v * 1e3, " ms"] : [v, " s"];
  const parts = (v, measure) => measure === "latency" ? seconds(v)
    : measure === "bytes" ? scaled(v, [" B", " KiB", " MiB", " GiB", " TiB"], 1024) : [v, ""];
  const words = (v, measure) => { const [n, unit] = parts(v, measure); return digits(n) + unit; };
  const label = (v, measure) => {
    if (measure === "number" && Math.abs(v) >= 10000) {
      const [n, unit] = scaled(v, ["", "k", "M", "G"], 1000);
      return trimmed(n) + unit;
    }
    if (measure === "latency" && v === 0) return "0";
    const [n, unit] = parts(v, measure);
    return trimmed(n) + unit;
  };
  const moment = (v, step) => {
    if (v < 120) return trimmed(v);
    const pad = (n) => String(n).padStart(2, "0");
    const fine = step < 1 ? (v % 1).toFixed(3).slice(1).replace(/0+$/, "").replace(/\.$/, "") : "";
    const s = step < 1 ? Math.floor(v + 1e-6) : Math.round(v);
    const [h, m, rest] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
    return (h ? h + ":" + pad(m) : String(m)) + ":" + pad(rest) + fine;
  };

  // ---- axes
  const round = (rough) => {
    const power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].find((t) => t * power >= rough * (1 - 1e-9)) * power;
  };
  const linear = (max, measure) => {
    max = 1.02 * (max > 0 ? max : 1);
    const step = measure === "bytes" ? 2 ** Math.ceil(Math.log2(max / 4)) : round(max / 4);
    const n = Math.max(1, Math.ceil(max / step));
    return { low: 0, high: n * step, ticks: Array.from({ length: n + 1 }, (_, i) => i * step) };
  };
  const decades = (min, max) => {
    if (!(min > 0) || !(max >= min)) { min = 0.001; max = 1; }
    const first = Math.floor(Math.log10(min));
    const last = Math.max(Math.ceil(Math.log10(max)), first + 1);
    const ticks = [];
    for (let p = first; p < last; p++) {
      for (const b of last - first <= 2 ? [1, 2, 5] : [1]) ticks.push(b * 10 ** p);
    }
    ticks.push(10 ** last);
    return { low: 10 ** first, high: 10 ** last, log: true, ticks };
  };
  const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
  const clock = (low, high, most) => {
    const rough = (high - low) / most;
    const step = rough <= 1 ? round(rough)
      : CLOCK.find((s) => s >= rough) || Math.ceil(rough / 3600) * 3600;
    const ticks = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9; n++) ticks.push(n * step);
    return { low, high, ticks, step };
  };
  const place = (axis, v) => {
    const p = axis.log ? Math.log(Math.max(v, axis.low) / axis.low) / Math.log(axis.high / axis.low)
      : (v - axis.low) / (axis.high - axis.low);
    return Math.min(1, Math.max(0, p));
  };

  // ---- drawing
  const el = (parent, name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.appendChild(node);
    return node;
  };
  // Of all points in a pixel column the first, lowest, highest and last stay (M4).
  const thinned = (points) => {
    const kept = [];
    for (let i = 0; i < points.length;) {
      const column = Math.floor(points[i][0]);
      let j = i, low = i, high = i;
      for (; j < points.length && Math.floor(points[j][0]) === column; j++) {
        if (points[j][1] < points[low][1]) low = j;
        if (points[j][1] > points[high][1]) high = j;
      }
      for (const k of [...new Set([i, low, high, j - 1])].sort((a, b) => a - b)) kept.push(points[k]);
      i = j;
    }
    return kept;
  };
  // The points of a curve in the shown part, with one neighbour on each side for lines.
  const shown = (curve, x) => {
    const at = times[curve.times];
    let from = at.findIndex((t) => t >= x.low);
    if (from < 0) return [0, 0];
    let to = at.length;
    while (to > from && at[to - 1] > x.high) to--;
    return [Math.max(0, from - 1), Math.min(at.length, to + 1)];
  };
  const pathOf = (curve, x, y, fx, fy) => {
    const at = times[curve.times];
    const [from, to] = shown(curve, x);
    const marks = curve.style === "dots" || curve.style === "crosses";
    const stretches = [[]];
    for (let i = from; i < to; i++) {
      const v = curve.values[i];
      const here = stretches[stretches.length - 1];
      if (v === null || (y.log && v <= 0)) { if (here.length) stretches.push([]); continue; }
      if (marks && (at[i] < x.low || at[i] > x.high)) continue;
      if (curve.style === "steps" && i > 0) here.push([fx(at[i - 1]), fy(v)]);
      here.push([fx(at[i]), fy(v)]);
    }
    let path = "";
    for (const stretch of stretches) {
      const points = thinned(stretch).map(([a, b]) => [a.toFixed(1), b.toFixed(1)]);
      if (curve.style === "dots") path += points.map(([a, b]) => `M${a} ${b}h0`).join("");
      else if (curve.style === "crosses") path += points.map(([a, b]) => `M${a - 3} ${b - 3}l6 6m0-6l-6 6`).join("");
      else if (points.length) path += "M" + points.map((p) => p.join(" ")).join("L") + (points.length === 1 ? "h1.5" : "");
    }
    return path;
  };
  const STROKE = {
    dots: { "stroke-width": 3.6, "stroke-linecap": "round" },
    crosses: { "stroke-width": 1.4 },
    dashed: { "stroke-width": 1.6, "stroke-dasharray": "5 4" },
    line: { "stroke-width": 1.6, "stroke-linejoin": "round" },
    steps: { "stroke-width": 1.6, "stroke-linejoin": "round" },
  };

  const bandsOf = (plot, x, fx, box) => {
    const groups = [];
    for (const [from, to, kind, letter, name, variant] of data.bands) {
      if (to < x.low || from > x.high) continue;
      const a = fx(Math.max(from, x.low)), b = fx(Math.min(to, x.high));
      const wide = Math.max(b - a, 0.5);
      const rect = { x: a, width: wide, class: "band " + kind, "fill-opacity": { cold: 0.22, warming: 0.18, warm: 0.12 }[kind] || 0.16 };
      el(plot.svg, "rect", { ...rect, y: box.top, height: box.bottom - box.top });
      el(plot.svg, "rect", { ...rect, class: "strip " + kind, "fill-opacity": 0.55, y: box.top - 15, height: 14 });
      if (wide >= 11 && box.top > 20) {
        el(plot.svg, "text", { class: "letter", x: a + wide / 2, y: box.top - 4.5, "text-anchor": "middle", "font-size": 10 }, letter);
      }
      const last = groups[groups.length - 1];
      if (variant && last && last.variant === variant) last.to = b;
      else if (variant) groups.push({ variant, from: a, to: b });
    }
    if (box.top < 30) return;
    for (const { variant, from, to } of groups) {
      el(plot.svg, "path", { class: "axis", d: `M${from} ${box.top - 30}V${box.bottom}`, "stroke-dasharray": "2 3" });
      if (variant.length * 6.6 + 8 <= to - from) {
        el(plot.svg, "text", { class: "variant", x: from + 5, y: box.top - 21, "font-weight": 600 }, variant);
      }
    }
  };

  const stallsOf = (plot, x, fx, box) => {
    let path = "";
    for (const [from, to] of data.stalls) {
      if (to < x.low || from > x.high) continue;
      const a = fx(Math.max(from, x.low)), b = fx(Math.min(to, x.high));
      path += `M${a.toFixed(1)} ${box.top}H${Math.max(b, a + 1).toFixed(1)}V${box.bottom}H${a.toFixed(1)}z`;
    }
    if (path) el(plot.svg, "path", { class: "stalls", d: path, "fill-opacity": 0.28 });
  };
  const marksOf = (plot, x, fx, box) => {
    for (const [at, name] of data.marks) {
      if (at < x.low || at > x.high) continue;
      el(plot.svg, "path", { class: "mark", d: `M${fx(at).toFixed(1)} ${box.top}V${box.bottom}`, "stroke-dasharray": "6 3" });
      el(plot.svg, "text", { class: "mark", x: fx(at) + 3, y: box.top + 10, "font-size": 10 }, name);
    }
  };
  // Shades come from the fixed picture: paths in columns and rows, stretched to the place they have now.
  const shadesOf = (plot, parent, fx, fy) => {
    const { column, low, high, rows } = plot.spec.shades;
    const right = (fx(column) - fx(0)).toFixed(4), up = ((fy(high) - fy(low)) / rows).toFixed(4);
    plot.shades.setAttribute("transform", `translate(${fx(0).toFixed(2)} ${fy(low).toFixed(2)}) scale(${right} ${up})`);
    parent.appendChild(plot.shades);
  };

  const draw = (plot) => {
    const { spec, svg } = plot;
    const width = Math.max(260, svg.parentNode.clientWidth);
    const [, height, left, right, top, below] = spec.frame;
    const box = { left, right: width - right, top, bottom: height - below };
    const range = spec.labels ? plot.range : zoom || data.time;
    const x = spec.labels ? { low: range[0], high: range[1], ticks: [] }
      : clock(range[0], range[1], Math.max(3, Math.round(width / 115)));
    let min = Infinity, max = 0;
    spec.curves.forEach((curve, c) => {
      if (plot.off.has(c)) return;
      const at = times[curve.times];
      curve.values.forEach((v, i) => {
        if (v === null || at[i] < x.low || at[i] > x.high) return;
        max = Math.max(max, v);
        if (v > 0) min = Math.min(min, v);
      });
    });
    if (spec.shades) { min = Math.min(min, spec.shades.low); max = Math.max(max, spec.shades.high); }
    const y = spec.log ? decades(min, max) : linear(max, spec.measure);
    const fx = (t) => left + ((t - x.low) / (x.high - x.low)) * (box.right - left);
    const fy = (v) => box.top + (1 - place(y, v)) * (box.bottom - box.top);
    Object.assign(plot, { x, y, fx, fy, box });

    while (svg.lastChild && !["title", "desc"].includes(svg.lastChild.nodeName)) svg.lastChild.remove();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const clip = "clip-" + spec.id;
    el(el(svg, "clipPath", { id: clip }), "rect", { x: left - 3, y: box.top - 3, width: box.right - left + 6, height: box.bottom - box.top + 6 });
    if (!spec.labels) bandsOf(plot, x, fx, box);
    if (plot.shades) shadesOf(plot, el(svg, "g", { "clip-path": `url(#${clip})` }), fx, fy);
    if (spec.main) stallsOf(plot, x, fx, box);
    for (const tick of y.ticks) {
      const at = fy(tick).toFixed(1);
      el(svg, "path", { class: "grid", d: `M${left} ${at}H${box.right}` });
      el(svg, "text", { class: "tick", x: left - 8, y: +at + 4, "text-anchor": "end" }, label(tick, spec.measure));
    }
    const labels = spec.labels || x.ticks.map((t) => [t, moment(t, x.step)]);
    let taken = -Infinity;
    for (const [at, word] of labels) {
      const half = word.length * 3.4 + 2;
      if (at < x.low || at > x.high || fx(at) - half < taken) continue;
      taken = fx(at) + half;
      el(svg, "path", { class: "axis", d: `M${fx(at).toFixed(1)} ${box.bottom}v5` });
      el(svg, "text", { class: "tick", x: fx(at), y: box.bottom + 18, "text-anchor": "middle" }, word);
    }
    el(svg, "path", { class: "axis", d: `M${left} ${box.bottom}H${box.right}` });
    el(svg, "text", { class: "tick", x: box.right, y: box.bottom + 33, "text-anchor": "end" }, spec.xTitle);
    const inner = el(svg, "g", { "clip-path": `url(#${clip})` });
    spec.curves.forEach((curve, c) => {
      if (plot.off.has(c)) return;
      el(inner, "path", { class: `curve c${curve.colour % 7} ${curve.style}`, fill: "none", d: pathOf(curve, x, y, fx, fy), ...STROKE[curve.style] });
    });
    if (spec.main) marksOf(plot, x, fx, box);
    plot.cursor = el(svg, "path", { class: "cursor", visibility: "hidden" });
    plot.choice = el(svg, "rect", { class: "choice", y: box.top, height: box.bottom - box.top, visibility: "hidden" });
  };
  const drawTimes = () => plots.filter((p) => !p.spec.labels).forEach(draw);

  // ---- cursor
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.appendChild(tip);
  const line = (parent, name, value) => {
    const row = document.createElement("div");
    const bold = document.createElement("b");
    bold.textContent = value;
    row.append(name + " ", bold);
    parent.appendChild(row);
  };
  const nearest = (curve, t) => {
    const at = times[curve.times];
    let low = 0, high = at.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at[middle] < t) low = middle + 1; else high = middle;
    }
    if (curve.style === "steps" || low === 0) return low;
    return t - at[low - 1] < at[low] - t ? low - 1 : low;
  };
  const pointer = (plot, event) => {
    const area = plot.svg.getBoundingClientRect();
    const unit = plot.svg.viewBox.baseVal.width / area.width;
    const px = Math.min(plot.box.right, Math.max(plot.box.left, (event.clientX - area.left) * unit));
    const share = (px - plot.box.left) / (plot.box.right - plot.box.left);
    return { px, t: plot.x.low + share * (plot.x.high - plot.x.low) };
  };
  const follow = (plot, event) => {
    const { t } = pointer(plot, event);
    for (const other of plot.spec.labels ? [plot] : plots.filter((p) => !p.spec.labels)) {
      const at = other.fx(t).toFixed(1);
      other.cursor.setAttribute("d", `M${at} ${other.box.top}V${other.box.bottom}`);
      other.cursor.setAttribute("visibility", "visible");
    }
    tip.replaceChildren();
    if (plot.spec.id === "spectrum") line(tip, "percentile", trimmed(100 * (1 - 10 ** -t)) + " %");
    else if (plot.spec.labels) line(tip, plot.spec.xTitle, digits(t));
    else line(tip, "at", moment(t, 0.1) + (t < 120 ? " s" : ""));
    if (!plot.spec.labels && data.stalls.some(([from, to]) => from <= t && t <= to)) line(tip, "", "stall");
    const band = plot.spec.labels ? null : data.bands.find(([from, to]) => from <= t && t <= to);
    if (band) line(tip, "", band[4]);
    plot.spec.curves.forEach((curve, c) => {
      if (plot.off.has(c) || !curve.values.length) return;
      const place = nearest(curve, t);
      const value = curve.values[place];
      const near = Math.abs(plot.fx(times[curve.times][place]) - plot.fx(t)) < 40 || curve.style === "steps";
      if (value !== null && near) line(tip, curve.name, words(value, plot.spec.measure));
    });
    tip.hidden = false;
    const room = root.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(4, Math.min(event.pageX + 14, window.scrollX + room)) + "px";
    tip.style.top = event.pageY + 16 + "px";
  };
  const leave = () => {
    tip.hidden = true;
    for (const plot of plots) plot.cursor.setAttribute("visibility", "hidden");
  };

  // ---- zoom
  const back = document.getElementById("zoom-out");
  const show = (range) => {
    const [low, high] = data.time;
    if (range) {
      const from = Math.max(low, Math.min(...range)), to = Math.min(high, Math.max(...range));
      zoom = to - from >= Math.max(0.05, (high - low) / 5000) ? [from, to] : zoom;
    } else zoom = null;
    if (back) back.disabled = !zoom;
    root.dataset.zoom = zoom ? zoom.map((v) => v.toFixed(2)).join("-") : "whole";
    drawTimes();
  };
  if (back) back.addEventListener("click", () => show(null));

  const listen = (plot) => {
    const { svg } = plot;
    let drag = null;
    svg.addEventListener("pointermove", (event) => {
      follow(plot, event);
      if (!drag) return;
      const here = pointer(plot, event);
      if (drag.pan) {
        const by = (drag.px - here.px) / (plot.box.right - plot.box.left) * (drag.pan[1] - drag.pan[0]);
        const move = Math.max(data.time[0] - drag.pan[0], Math.min(data.time[1] - drag.pan[1], by));
        show([drag.pan[0] + move, drag.pan[1] + move]);
        return;
      }
      plot.choice.setAttribute("x", Math.min(drag.px, here.px));
      plot.choice.setAttribute("width", Math.abs(here.px - drag.px));
      plot.choice.setAttribute("visibility", "visible");
    });
    svg.addEventListener("pointerleave", () => { if (!drag) leave(); });
    if (plot.spec.labels) return;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = pointer(plot, event);
      drag.pan = event.shiftKey && zoom ? [...zoom] : null;
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    svg.addEventListener("pointerup", (event) => {
      if (!drag) return;
      const here = pointer(plot, event), began = drag;
      drag = null;
      plot.choice.setAttribute("visibility", "hidden");
      if (!began.pan && Math.abs(here.px - began.px) > 5) show([began.t, here.t]);
    });
    svg.addEventListener("pointercancel", () => { drag = null; plot.choice.setAttribute("visibility", "hidden"); });
    svg.addEventListener("dblclick", () => show(null));
  };

  const toggles = (plot, figure) => {
    const items = figure.querySelectorAll("[data-curve]");
    if (items.length < 2) return;
    for (const item of items) {
      const c = +item.dataset.curve;
      const turn = () => {
        if (plot.off.has(c)) plot.off.delete(c); else plot.off.add(c);
        item.setAttribute("aria-pressed", String(!plot.off.has(c)));
        draw(plot);
      };
      item.setAttribute("role", "button");
      item.setAttribute("tabindex", "0");
      item.setAttribute("aria-pressed", "true");
      item.addEventListener("click", turn);
      item.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); turn(); }
      });
    }
  };

  // ---- beginning
  for (const spec of data.plots) {
    const svg = document.getElementById("plot-" + spec.id);
    const figure = svg && svg.closest("figure");
    if (!figure) continue;
    const plot = { spec, svg, off: new Set(), range: spec.range || [0, 1], shades: svg.querySelector("g.shades") };
    svg.classList.add("live");
    svg.classList.toggle("still", !!spec.labels);
    plots.push(plot);
    draw(plot);
    listen(plot);
    toggles(plot, figure);
  }
  let waiting = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => plots.forEach(draw));
  });

  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  const hint = document.getElementById("zoom-hint");
  if (hint) hint.hidden = false;

  // Paper can't be unfolded.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach((d) => { d.open = true; });
  });
  window.addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));

  root.dataset.script = "on";
  root.dataset.plots = String(plots.length);
})();
