// Draws every chart in the room that it has and in the colours of the scheme; draws again when
// either changes. Until then, and on paper, the picture in its place is shown.
(() => {
  "use strict";
  const { specs, dark } = JSON.parse(document.getElementById("charts").textContent);
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const LEAST = 300; // pixels of a panel, before panels go below each other

  function coloured(spec) {
    const text = JSON.stringify(spec);
    if (!scheme.matches) return JSON.parse(text);
    return JSON.parse(text.replace(/#[0-9a-f]{6}/g, (colour) => dark[colour] ?? colour));
  }

  function laidOut(spec, room) {
    const { columns: most, gap, rooms, words } = spec.usermeta;
    const fitting = Math.floor((room + gap) / (LEAST + gap));
    const columns = Math.max(1, Math.min(most, fitting));
    const cell = Math.floor((room - gap * (columns - 1)) / columns);
    spec.columns = columns;
    spec.concat.forEach((panel, at) => { panel.width = cell - rooms[at]; });
    spec.config.legend.columns = Math.max(1, Math.floor(room / (words * 6.5 + 50)));
    if (cell < 400) spec.config.axisX.labelFontSize = 9.5;
    return spec;
  }

  async function draw(figure, spec) {
    const chart = figure.querySelector(".chart");
    const live = chart.querySelector(".live");
    const room = Math.floor(figure.clientWidth);
    chart.classList.add("drawn");
    await vegaEmbed(live, laidOut(coloured(spec), room), {
      mode: "vega-lite", renderer: "svg", actions: false, ast: true,
    });
    live.dataset.room = room;
  }

  let running = Promise.resolve();
  function drawAll() {
    running = running.then(async () => {
      for (const [name, spec] of Object.entries(specs)) {
        await draw(document.getElementById(`figure-${name}`), spec);
      }
      document.documentElement.dataset.drawn = scheme.matches ? "dark" : "light";
    });
  }

  drawAll();
  scheme.addEventListener("change", drawAll);
  let waiting;
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return; // a phone's address bar comes and goes
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
})();
