// Draws the operator's charts, and keeps the page fresh: its live parts are taken from it as it is now.
(() => {
  "use strict";
  const board = document.getElementById("board");
  const { rounds } = board.dataset;
  const find = (id) => document.getElementById(id);
  const { _, locale, localise } = likewiseTexts;
  const figures = [...document.querySelectorAll("[data-chart]")];
  const every = Math.max(1, Number(board.dataset.every)) * 1000;
  let series = null;
  let paused = false;
  let timer = 0;
  let asked = 0; // the number of the newest refresh
  const plots = new Map();

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const write = (value, digits) => (value == null ? "–" : value.toLocaleString(locale, { minimumFractionDigits: digits, maximumFractionDigits: digits }));

  // While nobody points at a chart, its legend tells the latest round.
  function rest(plot) {
    if (plot.cursor.idx == null && plot.data[0].length) {
      plot.setLegend({ idx: plot.data[0].length - 1 }, false);
    }
  }

  function draw(figure) {
    const { chart, title, digits } = figure.dataset;
    const place = figure.querySelector(".plot");
    plots.get(chart)?.destroy();
    const axis = (size) => ({
      stroke: colour("--soft"), size, font: "12px system-ui, sans-serif",
      grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 },
      values: (_, ticks) => ticks.map((tick) => tick?.toLocaleString(locale, { maximumSignificantDigits: 6 }) ?? ""),
    });
    const values = (_, value) => write(value, Number(digits));
    plots.set(chart, new uPlot({
      width: Math.max(200, place.clientWidth), height: 210,
      scales: { x: { time: false }, y: { range: (_, low, high) => uPlot.rangeNum(Math.min(0, low), high || 1, 0.1, true) } },
      cursor: { drag: { x: false, y: false } },
      hooks: { setLegend: [rest] },
      axes: [axis(34), axis(52)],
      series: [
        { label: _("Round") },
        { label: title, stroke: colour("--accent"), width: 2, value: values, points: { show: (plot) => plot.data[0].length < 3, size: 8 } },
      ],
    }, [series.number, series[chart]], place));
    rest(plots.get(chart));
    place.onclick = () => {
      const index = plots.get(chart).cursor.idx;
      if (index != null) location.assign(`${rounds}?after=${series.number[index] - 1}`);
    };
  }

  function describe(figure) {
    const { chart, title, digits } = figure.dataset, last = series.number.length - 1;
    const values = { title, value: write(series[chart][last], Number(digits)), number: write(series.number[last], 0) };
    figure.querySelector(".plot").setAttribute("aria-label", _("%(title)s: %(value)s at round %(number)s. The numbers are in the table beneath.", values));
  }

  function show() {
    series = JSON.parse(find("tables").dataset.series);
    if (!series.number.length) return;
    find("no-series")?.remove();
    for (const figure of figures) {
      const plot = plots.get(figure.dataset.chart);
      if (plot) {
        plot.setData([series.number, series[figure.dataset.chart]]);
        rest(plot);
      } else draw(figure);
      describe(figure);
    }
  }

  function trouble(text) {
    if (find("stale").textContent !== text) find("stale").textContent = text;
    find("stale").hidden = !text;
  }

  async function refresh() {
    clearTimeout(timer);
    const number = ++asked;
    // After a pause, or a newer refresh, nothing of this one is shown.
    const late = () => paused || number !== asked;
    try {
      const response = await fetch(board.dataset.url, { headers: { Accept: "text/html" }, credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      if (late()) return;
      // A page without the tables is another page (to sign in, an error): what is here is kept.
      if (!response.ok || !page.getElementById("tables")) throw new Error(response.status);
      for (const part of document.querySelectorAll("[data-live]")) {
        const fresh = page.getElementById(part.id);
        // What is the same stays, with the focus or the selection that is in it.
        if (fresh && !part.isEqualNode(fresh)) part.replaceWith(fresh);
      }
      localise();
      show();
      trouble("");
    } catch {
      if (late()) return;
      trouble(_("The numbers could not be refreshed. Trying again; if this stays, sign in again."));
    }
    if (!paused && !document.hidden) timer = setTimeout(refresh, every);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !paused) refresh();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (series?.number.length) figures.forEach(draw);
  });
  new ResizeObserver(() => {
    for (const figure of figures) {
      const width = Math.max(200, figure.querySelector(".plot").clientWidth);
      plots.get(figure.dataset.chart)?.setSize({ width, height: 210 });
    }
  }).observe(board);

  const pause = find("pause");
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    if (paused) clearTimeout(timer);
    else refresh();
  });

  const copy = find("copy");
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(find("head-receipt").textContent);
      find("copied").textContent = _("Copied.");
    } catch {
      // Browsers refuse without a secure connection; the text is then selected, ready to be copied.
      getSelection().selectAllChildren(find("head-receipt"));
      find("copied").textContent = _("Selected: press Ctrl+C, or Cmd+C.");
    }
  });

  localise();
  show();
  if (!document.hidden) timer = setTimeout(refresh, every);
})();
