"use strict";
// Lets the page of a run under way grow: points as intervals end, fresh sections now and then. Every picture and table is
// drawn by the program; this takes them over, and adds points by `sweatPage.append`.
(() => {
  const root = document.documentElement;
  const strip = document.getElementById("live");
  const [state, line, note] = ["state", "line", "note"].map((name) => document.getElementById("live-" + name));
  const AGAIN_MS = 10000; // between two fresh pages
  const SOON_MS = 2500; // after something that no point can show
  const KEPT = 120; // intervals that may be newer than the page
  const beats = [];
  let seen = 0, timer = 0, due = Infinity, over = false, last = Promise.resolve();

  const tell = (word) => { state.textContent = root.dataset.live = word; };
  const figures = (pairs) => line.replaceChildren(...pairs.map(([name, value]) => {
    const one = document.createElement("span"), bold = document.createElement("b");
    bold.textContent = value;
    one.append(name ? name + " " : "", bold);
    return one;
  }));

  // ---- a fresh page: what was unfolded stays so
  const key = (fold) => [fold.closest("section")?.id, fold.closest("figure")?.dataset.plot,
    fold.querySelector("summary")?.textContent].join("|");
  const take = (fresh) => {
    const folds = new Map([...document.querySelectorAll("details")].map((fold) => [key(fold), fold.open]));
    const y = window.scrollY;
    for (const name of ["header", "main", "footer"]) {
      document.querySelector(name).replaceWith(fresh.querySelector(name));
    }
    document.getElementById("plot-data").textContent = fresh.getElementById("plot-data").textContent;
    document.title = fresh.title;
    for (const fold of document.querySelectorAll("details")) fold.open = folds.get(key(fold)) ?? fold.open;
    sweatPage.redraw();
    beats.forEach(plant);
    window.scrollTo(0, y);
    root.dataset.fresh = String(+(root.dataset.fresh || 0) + 1);
  };
  const fetchPage = async () => {
    const answer = await fetch("/", { cache: "no-store" });
    if (answer.ok) take(new DOMParser().parseFromString(await answer.text(), "text/html"));
  };
  const refresh = () => {
    // One that fails is tried again later; whether the run is still there is told by its events.
    last = last.then(fetchPage).catch(() => {}).then(() => { if (!over) schedule(AGAIN_MS); });
    return last;
  };
  const schedule = (ms) => {
    if (performance.now() + ms >= due) return;
    due = performance.now() + ms;
    clearTimeout(timer);
    timer = setTimeout(() => { due = Infinity; refresh(); }, ms);
  };

  // ---- points of an interval; whether the page could show all of them
  const plant = (beat) => {
    const shown = beat.points.map(([plot, curve, value, word]) => {
      const names = beat.variant ? [`${beat.variant}: ${curve}`, curve] : [curve];
      return sweatPage.append(plot, names, beat.t_s, beat.seconds, value, word);
    });
    sweatPage.grow();
    return shown.every(Boolean);
  };

  const source = new EventSource("/events?after=" + strip.dataset.event);
  const on = (kind, act) => source.addEventListener(kind, (event) => act(JSON.parse(event.data)));
  on("beat", (beat) => {
    beats.push(beat);
    if (beats.length > KEPT) beats.shift();
    tell("running");
    figures(beat.figures);
    if (!plant(beat)) schedule(SOON_MS);
    root.dataset.beats = String(++seen);
  });
  on("step", (step) => {
    tell("running");
    figures([["", step.text]]);
    schedule(SOON_MS);
  });
  on("note", ({ text }) => { note.textContent = text; });
  on("missed", () => schedule(0));
  on("end", async (end) => {
    over = true;
    clearTimeout(timer);
    await refresh();
    source.close();
    figures([]);
    tell("ended: " + end.state);
  });
  source.addEventListener("open", () => { if (!over) tell("running"); });
  source.addEventListener("error", () => {
    if (!over) tell(source.readyState === EventSource.CLOSED ? "connection closed" : "connection lost; trying again");
  });
  schedule(AGAIN_MS);
})();
