"use strict";
// Zoom, cursor and toggles for the pictures that stand in the page. A zoom moves the viewBox of each plot's inner svg and
// writes the labels of its time axis; nothing else is drawn here.
(() => {
  const root = document.documentElement;
  const SVG = "http://www.w3.org/2000/svg";
  const EDGE = 3; // the inner svg is wider than the axis by this on each side, so that dots at the ends are whole
  let data, times, drawn; // drawn: the seconds that the pictures were drawn for; data.time grows with a run under way
  let zoom = null; // [from, to] in seconds, shared by all plots over time
  let back = null;
  const plots = [];
  const hiddenCurves = new Set();
  const read = () => {
    data = JSON.parse(document.getElementById("plot-data").textContent);
    drawn = [...data.time];
    times = data.times.map((steps) => {
      let at = 0;
      return steps.map((step) => (at += step) / 1000);
    });
  };

  // ---- labels of a time axis, as in the fixed picture
  const trimmed = (v) => String(+v.toFixed(3));
  const moment = (v, step) => {
    if (data.form === 0) return trimmed(v);
    const pad = (n) => String(n).padStart(2, "0");
    const fine = step < 1 ? (v % 1).toFixed(3).slice(1).replace(/\.?0+$/, "") : "";
    const s = step < 1 ? Math.floor(v + 1e-6) : Math.round(v);
    const [h, m, rest] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
    return (data.form === 2 ? h + ":" + pad(m) : String(h * 60 + m)) + ":" + pad(rest) + fine;
  };
  const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
  const ticks = (low, high) => {
    const rough = (high - low) / 8;
    const step = STEPS.find((s) => s >= rough) || Math.ceil(rough / 3600) * 3600;
    const list = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9; n++) list.push([n * step, moment(n * step, step)]);
    return list;
  };

  const latency = (s) => {
    const [unit, by] = s < 1e-3 ? ["µs", 1e6] : s < 1 ? ["ms", 1e3] : ["s", 1];
    return String(+(s * by).toPrecision(3)) + " " + unit;
  };

  // ---- places: in units of the picture; `place` in what is shown now
  const add = (parent, name, attributes, text = "") => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    return parent.appendChild(node);
  };
  const range = (plot) => plot.spec.range || zoom || data.time;
  const place = (plot, t, [low, high] = range(plot)) => plot.left + (t - low) / (high - low) * (plot.right - plot.left);

  const update = (plot) => {
    const wide = zoom || (data.time[1] > drawn[1] ? data.time : null);
    const [from, to] = range(plot).map((t) => place(plot, t, plot.spec.range || drawn));
    const unit = (to - from) / (plot.right - plot.left);
    plot.inner.setAttribute("viewBox", `${from - EDGE * unit} 0 ${to - from + 2 * EDGE * unit} ${plot.height}`);
    plot.svg.classList.toggle("zoomed", !!wide);
    for (const [name, x] of plot.names) {
      const at = plot.left + (x - from) / unit;
      name.setAttribute("x", at);
      name.style.display = at < plot.left || at > plot.right ? "none" : "";
    }
    plot.ticks.replaceChildren(...(wide ? [] : plot.whole));
    for (const [t, word] of wide ? ticks(...wide) : []) {
      add(plot.ticks, "path", { class: "axis", d: `M${place(plot, t)} ${plot.bottom}v5` });
      add(plot.ticks, "text", { class: "tick", x: place(plot, t), y: plot.bottom + 18, "text-anchor": "middle" }, word);
    }
  };

  // ---- cursor
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.appendChild(tip);
  const line = (name, value) => {
    const row = document.createElement("div");
    const bold = document.createElement("b");
    bold.textContent = value;
    row.append(name + " ", bold);
    tip.appendChild(row);
  };
  const nearest = (curve, t) => {
    const at = curve.at || times[curve.times];
    const next = at.findIndex((other) => other >= t);
    if (next < 0) return at.length - 1;
    if (curve.steps || next === 0) return next;
    return t - at[next - 1] < at[next] - t ? next - 1 : next;
  };
  const pointer = (plot, event) => {
    const area = plot.svg.getBoundingClientRect();
    const unit = plot.svg.viewBox.baseVal.width / area.width;
    const px = Math.min(plot.right, Math.max(plot.left, (event.clientX - area.left) * unit));
    const [low, high] = range(plot);
    return { px, t: low + (px - plot.left) / (plot.right - plot.left) * (high - low) };
  };
  const follow = (plot, event) => {
    const { px, t } = pointer(plot, event);
    const { spec } = plot;
    for (const other of spec.range ? [plot] : plots.filter((p) => !p.spec.range)) {
      const at = other === plot ? px : place(other, t);
      other.cursor.setAttribute("d", `M${at} ${other.top}V${other.bottom}`);
      other.cursor.setAttribute("visibility", "visible");
    }
    tip.replaceChildren();
    if (spec.id === "spectrum") line("percentile", trimmed(100 * (1 - 10 ** -t)) + " %");
    else if (spec.scale) line(spec.title, latency(spec.scale[0] * spec.scale[1] ** t));
    else if (spec.range) line(spec.title, trimmed(t));
    else line("at", moment(t, 0.1) + (data.form ? "" : " s"));
    for (const under of document.elementsFromPoint(event.clientX, event.clientY)) {
      const title = plot.inner.contains(under) && under.querySelector(":scope > title");
      if (title) line("", title.textContent);
    }
    spec.curves.forEach((curve, c) => {
      if (plot.curves[c].style.display || !curve.values.length) return;
      const point = nearest(curve, t);
      const near = curve.steps || Math.abs(place(plot, (curve.at || times[curve.times])[point]) - px) < 40;
      if (curve.values[point] !== null && near) line(curve.name, data.words[curve.values[point]]);
    });
    tip.hidden = false;
    const room = root.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(4, Math.min(event.pageX + 14, window.scrollX + room)) + "px";
    tip.style.top = event.pageY + 16 + "px";
  };

  // ---- zoom
  const show = (wanted) => {
    const [low, high] = data.time;
    zoom = null;
    if (wanted) {
      const wide = Math.max(high - low > 1 ? 0.1 : 0, wanted[1] - wanted[0], (high - low) / 500);
      const from = Math.max(low, Math.min(wanted[0], high - wide));
      zoom = [from, Math.min(high, from + wide)];
    }
    if (back) back.disabled = !zoom;
    root.dataset.zoom = zoom ? zoom.map((v) => v.toFixed(2)).join("-") : "whole";
    plots.filter((p) => !p.spec.range).forEach(update);
  };
  const listen = (plot) => {
    const { svg, choice } = plot;
    let drag = null;
    svg.addEventListener("pointermove", (event) => {
      follow(plot, event);
      if (!drag) return;
      const here = pointer(plot, event);
      if (drag.pan) {
        const by = (drag.px - here.px) / (plot.right - plot.left) * (drag.pan[1] - drag.pan[0]);
        show(drag.pan.map((t) => t + by));
        return;
      }
      choice.setAttribute("x", Math.min(drag.px, here.px));
      choice.setAttribute("width", Math.abs(here.px - drag.px));
      choice.setAttribute("visibility", "visible");
    });
    const end = () => {
      const began = drag;
      drag = null;
      choice.setAttribute("visibility", "hidden");
      return began;
    };
    svg.addEventListener("pointerleave", () => {
      if (drag) return;
      tip.hidden = true;
      for (const other of plots) other.cursor.setAttribute("visibility", "hidden");
    });
    if (plot.spec.range) return;
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { ...pointer(plot, event), pan: event.shiftKey && zoom };
      svg.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    svg.addEventListener("pointerup", (event) => {
      const here = pointer(plot, event), began = end();
      if (began && !began.pan && Math.abs(here.px - began.px) > 5) show([began.t, here.t].sort((a, b) => a - b));
    });
    svg.addEventListener("pointercancel", end);
    svg.addEventListener("dblclick", () => show(null));
  };

  const toggles = (plot) => {
    const items = plot.svg.closest("figure").querySelectorAll("[data-curve]");
    const hidden = new Set([...items].filter((item) => hiddenCurves.has(plot.spec.id + item.textContent)));
    const own = (item) => item.dataset.curve.split(" ").map(Number);
    for (const item of items.length < 2 ? [] : items) {
      const draw = () => {
        item.setAttribute("aria-pressed", String(!hidden.has(item)));
        const off = new Set([...hidden].flatMap(own));
        plot.curves.forEach((curve, c) => { curve.style.display = off.has(c) ? "none" : ""; });
      };
      const turn = () => {
        if (!hidden.delete(item)) hidden.add(item);
        const name = plot.spec.id + item.textContent;
        hiddenCurves[hidden.has(item) ? "add" : "delete"](name);
        draw();
      };
      item.setAttribute("role", "button");
      item.setAttribute("tabindex", "0");
      draw();
      item.addEventListener("click", turn);
      item.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); turn(); }
      });
    }
  };

  // ---- a page that grows
  // Adds a point at the end of a curve. Whether the picture can show it: it has such a curve, and its y axis reaches so far.
  const append = (id, names, t_s, seconds, value, word) => {
    const plot = plots.find((one) => one.spec.id === id && one.spec.y);
    const c = plot ? plot.spec.curves.findIndex((curve) => names.includes(curve.name)) : -1;
    if (c < 0) return false;
    const curve = plot.spec.curves[c], path = plot.curves[c], t = t_s - data.began;
    const at = curve.at ||= [...times[curve.times]];
    const before = at.length ? at[at.length - 1] : -Infinity;
    if (t < before + 0.004) return true;
    const begins = t - before > 1.5 * seconds || curve.values[at.length - 1] === null;
    at.push(t);
    curve.values.push(value === null ? null : data.words.push(word) - 1);
    data.time[1] = Math.max(data.time[1], t);
    if (value === null) return true;
    const [low, high, log] = plot.spec.y;
    const share = log ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
    const x = place(plot, t, drawn);
    const y = plot.bottom - Math.min(1, Math.max(0, share)) * (plot.bottom - plot.top);
    const step = path.classList.contains("dots") ? `M${x} ${y}h0` : `${begins ? "M" : "L"}${x} ${y}`;
    path.setAttribute("d", path.getAttribute("d") + step);
    return value >= low && value <= high;
  };
  const grow = () => {
    for (const plot of plots.filter((one) => !one.spec.range)) {
      const end = Math.max(plot.right, place(plot, data.time[1], drawn)) + 2 * EDGE;
      for (const line of plot.inner.querySelectorAll(".grid")) {
        line.setAttribute("d", line.getAttribute("d").replace(/H.*/, "H" + Math.max(1000, end)));
      }
      update(plot);
    }
  };

  // ---- beginning; once more with every fresh page
  const start = () => {
    read();
    plots.length = 0;
    tip.hidden = true;
    back = document.getElementById("zoom-out");
    if (back) back.addEventListener("click", () => show(null));
    for (const spec of data.plots) {
      const svg = document.getElementById("plot-" + spec.id);
      const inner = svg && svg.querySelector("svg");
      if (!inner) continue;
      const { x, width, height } = inner.viewBox.baseVal;
      const [top, bottom] = ["top", "bottom"].map((edge) => +inner.dataset[edge]);
      const plot = { spec, svg, inner, left: x + EDGE, right: x + width - EDGE, top, bottom, height };
      plot.curves = inner.querySelectorAll(".curve");
      plot.ticks = svg.querySelector(".ticks");
      plot.whole = [...plot.ticks.childNodes];
      plot.names = [...svg.querySelectorAll(".names text")].map((name) => [name, +name.getAttribute("x")]);
      plot.cursor = add(svg, "path", { class: "cursor", visibility: "hidden" });
      plot.choice = add(svg, "rect", { class: "choice", y: top, height: bottom - top, visibility: "hidden" });
      svg.classList.add("live");
      plots.push(plot);
      listen(plot);
      toggles(plot);
    }
    const theme = document.getElementById("theme");
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const dark = root.dataset.theme ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
    });
    const hint = document.getElementById("zoom-hint");
    if (hint) hint.hidden = false;
    if (zoom) show(zoom);
    root.dataset.plots = String(plots.length);
  };
  start();
  window.sweatPage = { append, grow, redraw: start };

  // Paper can't be unfolded; tables behind plots, settings and plans would fill it.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.print:not([open])")];
    closed.forEach((d) => { d.open = true; });
  });
  window.addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));

  root.dataset.script = "on";
})();
