"use strict";
/* Charts with Observable Plot: as wide as their place, redrawn when it changes, their data one press away. */
(() => {
  const { el } = whatwhere.dom;
  const drawings = new WeakMap();
  const observer = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) drawings.get(target)?.(contentRect.width);
  });

  /** Plot's drawing without its own style elements, which our policy forbids; common.css replaces them. */
  function plot(options) {
    const drawn = Plot.plot({ style: { background: "none", overflow: "visible" }, ...options });
    for (const style of drawn.querySelectorAll("style")) style.remove();
    return drawn;
  }

  /**
   * A figure.
   *
   * name: of the CSV file; title: above it; alt: what a reader who cannot see it should know;
   * draw(width): an SVG element, or several; rows(): its data.
   */
  function chart({ name, title, alt, draw, rows, note }) {
    const place = el("div", { class: "drawing", role: "img", "aria-label": alt });
    const caption = el("figcaption", {}, el("span", { class: "title" }, title), rows ? whatwhere.table.csvButton(name, rows) : null);
    const element = el("figure", { class: "chart", "data-figure": name }, caption, place, note ? el("p", { class: "note" }, note) : null);
    let width = 0;
    const redraw = () => {
      if (width) place.replaceChildren(...[draw(width)].flat());
    };
    drawings.set(place, (now) => {
      if (Math.round(now) !== width) {
        width = Math.round(now);
        redraw();
      }
    });
    observer.observe(place);
    return { element, redraw, place, describe: (text) => place.setAttribute("aria-label", text) };
  }

  const POSITIONAL = "var(--positional)";
  const SYMBOLIC = "var(--symbolic)";
  /** Line and mark say again what the colour says. */
  const KINDS = {
    positional: { color: POSITIONAL, dash: null, symbol: "circle", glyph: "●" },
    symbolic: { color: SYMBOLIC, dash: "5 3", symbol: "square", glyph: "■" },
  };

  const OTHERS = { color: "var(--accent)", dash: "2 2", symbol: "diamond", glyph: "◆" };
  /** How a model's lines look: numbers as positional, letters as symbolic, a control apart from both. */
  const lookOf = (model) => (model.endsWith("-control") ? OTHERS : (KINDS[{ number: "positional", letter: "symbolic" }[model]] ?? OTHERS));

  /** The words positional and symbolic with their marks, for captions. */
  function key(entries) {
    return el(
      "p",
      { class: "key" },
      entries.map(([text, color, dash]) => {
        const { svg } = whatwhere.dom;
        return el(
          "span",
          {},
          svg("svg", { width: 26, height: 10, "aria-hidden": "true" }, svg("line", { x1: 1, x2: 25, y1: 5, y2: 5, "stroke-width": 2.5, "stroke-dasharray": dash, style: { stroke: color } })),
          ` ${text}`,
        );
      }),
    );
  }

  whatwhere.chart = { chart, plot, key, KINDS, lookOf };
})();
