"use strict";
/*
 * Heads by what they look at. A head that follows positions is red and has a disc, one that follows symbols is green and
 * has a square; the paler, the more uniform attention is; grey is in between.
 */
(() => {
  const { el, number } = whatwhere.dom;
  const GAMMA = 0.1;
  const percent = (x) => `${Math.round(100 * Math.min(1, Math.max(0, x)))}%`;

  /** The colour of a pair of scores, as CSS, so that it follows the theme. */
  function headColor(positional, symbolic) {
    if (positional === null || symbolic === null) return "var(--missing)";
    const leaning = positional - symbolic; // -1 symbolic .. 1 positional
    const end = leaning > 0 ? "var(--positional)" : "var(--symbolic)";
    const strength = Math.min(1, Math.max(0, 2 - positional - symbolic));
    return `color-mix(in oklab, color-mix(in oklab, ${end} ${percent(Math.abs(leaning))}, var(--mixed)) ${percent(strength)}, var(--uniform))`;
  }

  /** What a head is, at tolerance gamma: positional, symbolic, uniform or mixed. */
  function headKind(positional, symbolic, gamma = GAMMA) {
    if (positional === null || symbolic === null) return "undefined";
    if (positional >= 1 - gamma && symbolic <= gamma) return "positional";
    if (symbolic >= 1 - gamma && positional <= gamma) return "symbolic";
    return positional >= 1 - gamma && symbolic >= 1 - gamma ? "uniform" : "mixed";
  }
  const GLYPH = { positional: "●", symbolic: "■", uniform: "", mixed: "◐", undefined: "?" };
  const LEANING = 0.4;
  /** The mark of a head: filled if it is pure, hollow if it clearly leans to one side. */
  function headGlyph(positional, symbolic) {
    const kind = headKind(positional, symbolic);
    if (kind !== "mixed" || Math.abs(positional - symbolic) < LEANING) return GLYPH[kind];
    return positional > symbolic ? "○" : "□";
  }

  /**
   * A map of layers (across) and heads (down) whose cells are buttons; arrow keys move between them.
   *
   * value(layer, head): {positional, symbolic, ...}; onSelect(layer, head) when one is chosen;
   * describe(layer, head, value): more for its label.
   */
  function headMap({ layers, heads, value, onSelect, describe = () => "", label, chosen = [0, 0] }) {
    const grid = el("div", { class: "headmap", role: "group", "aria-label": label, style: { "--layers": layers } });
    grid.classList.toggle("dense", layers > 16);
    const cells = [];
    let current = chosen;
    const at = ([layer, head]) => cells[head * layers + layer];

    function select(place, focus) {
      for (const old of cells) old.tabIndex = -1;
      clear();
      current = place;
      at(place).setAttribute("aria-pressed", "true");
      at(place).tabIndex = 0; // the one that Tab reaches; arrows do the rest
      if (focus) at(place).focus();
    }
    /** None chosen. */
    function clear() {
      for (const cell of cells) cell.setAttribute("aria-pressed", "false");
    }

    for (let head = 0; head < heads; head++) {
      for (let layer = 0; layer < layers; layer++) {
        const choose = () => {
          select([layer, head]);
          onSelect(layer, head);
        };
        cells.push(el("button", { type: "button", on: { click: choose } }));
      }
    }
    grid.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!move) return;
      event.preventDefault();
      const [layer, head] = [current[0] + move[0], current[1] + move[1]];
      if (layer < 0 || head < 0 || layer >= layers || head >= heads) return;
      select([layer, head], true);
      onSelect(layer, head);
    });

    /** Colours and labels anew, after the values changed. */
    function update() {
      cells.forEach((button, i) => {
        const [layer, head] = [i % layers, Math.floor(i / layers)];
        const found = value(layer, head);
        const kind = headKind(found.positional, found.symbolic);
        button.dataset.kind = kind;
        button.style.setProperty("background", headColor(found.positional, found.symbolic));
        button.replaceChildren(headGlyph(found.positional, found.symbolic));
        const text = `layer ${layer} head ${head}: ${kind}, positional ${number(found.positional)}, symbolic ${number(found.symbolic)}${describe(layer, head, found)}`;
        button.setAttribute("aria-label", text);
        button.title = text;
      });
    }
    grid.append(...cells);
    select(chosen);
    update();

    const axis = el("div", { class: "headmap axis", "aria-hidden": "true", style: { "--layers": layers } });
    const every = layers > 16 ? 5 : 1;
    for (let layer = 0; layer < layers; layer++) axis.append(el("span", {}, layer % every ? "" : String(layer)));
    return { element: el("div", { class: "headmap-frame" }, grid, axis), update, clear, select: (layer, head) => select([layer, head]) };
  }

  /** What colours and marks of the map mean. */
  function headLegend() {
    const entry = (positional, symbolic, text) => {
      const style = { background: headColor(positional, symbolic) };
      return el("span", {}, el("i", { class: "swatch", "aria-hidden": "true", style }, headGlyph(positional, symbolic)), ` ${text}`);
    };
    return el(
      "p",
      { class: "key" },
      entry(1, 0, "positional: follows where"),
      entry(0, 1, "symbolic: follows what"),
      entry(0.75, 0.3, "leans to where"),
      entry(0.3, 0.75, "leans to what"),
      entry(0.5, 0.5, "mixed"),
      entry(1, 1, "uniform: nothing to follow"),
    );
  }

  whatwhere.heads = { headMap, headLegend, headColor, headKind, headGlyph };
})();
