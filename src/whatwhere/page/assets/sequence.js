"use strict";
/* A sequence that the reader edits: its hops, and the ideal function applied to all of it. */
(() => {
  const { el, svg } = whatwhere.dom;
  const { data } = whatwhere;
  const { read, follow, goals, apply } = whatwhere.oracle;
  const APPLICATIONS = 5;

  /** Arcs of the pointers above the tokens, then the sequence after each application. */
  function picture(task, tokens, width) {
    const { path, answer } = follow(task, tokens);
    const there = goals(task, tokens);
    const left = Math.min(64, 18 + width * 0.06);
    const cell = (width - left) / tokens.length;
    const x = (position) => left + cell * (position + 0.5);
    const size = Math.max(9, Math.min(15, cell * 0.5));
    const farthest = d3.max([...there.keys()], (from) => from - there[from]) ?? 0;
    const top = 16 + 0.75 * rise(Math.max(farthest, path[0] - (path[1] ?? path[0])));
    const row = Math.max(22, size * 1.9);
    const sequences = [tokens];
    for (let t = 0; t < APPLICATIONS; t++) sequences.push(apply(task, sequences.at(-1)));
    const height = top + row * sequences.length + 8;
    const drawn = svg("svg", { class: "hops", width, height, viewBox: `0 0 ${width} ${height}`, style: { "font-size": `${size}px` } });

    const onPath = new Map(path.slice(1).map((to, i) => [path[i], to]));
    there.forEach((to, from) => {
      if (to === from || onPath.has(from)) return;
      drawn.append(arc(x(from), x(to), top, rise(from - to), false));
    });
    for (const [from, to] of onPath) drawn.append(arc(x(from), x(to), top, rise(from - to), true));

    sequences.forEach((sequence, t) => {
      const y = top + row * t + row / 2;
      const name = t ? `after ${t}` : "input";
      drawn.append(svg("text", { x: 0, y: y + size * 0.35, class: "soft", style: { "text-anchor": "start", "font-size": `${Math.min(12, size)}px` } }, width < 500 ? String(t) : name));
      sequence.forEach((token, position) => {
        const isAnswer = t && position === sequence.length - 1 && token === answer;
        if (!t && path.includes(position)) drawn.append(svg("rect", { class: "on", x: x(position) - cell / 2, y: y - row / 2 + 2, width: cell, height: row - 4, rx: 4 }));
        if (isAnswer) drawn.append(svg("rect", { class: "answer", x: x(position) - cell / 2 + 1, y: y - row / 2 + 2, width: cell - 2, height: row - 4, rx: 4 }));
        const changed = t && token !== sequences[t - 1][position];
        drawn.append(svg("text", { x: x(position), y: y + size * 0.35, class: changed ? "changed" : t ? "soft" : null }, token));
      });
    });
    return drawn;
  }

  /** How high the control points of an arc over some positions stand; its top is at three quarters of it. */
  const rise = (positions) => (positions ? 16 + positions * 6 : 0);

  function arc(from, to, base, high, on) {
    return svg("path", { class: on ? "on" : "", d: `M${from},${base} C${from},${base - high} ${to},${base - high} ${to},${base - 2}` });
  }

  function sequence() {
    const known = (task) => task && ["number", "letter"].includes(task.name) && !task.parts; // what the oracle here reads
    const models = whatwhere.models.filter((model) => known(data.models[model].task));
    if (data.kind === "study" || !models.length) return null;
    let { task } = data.models[models[0]];
    let chosen = 0;
    let tokens = [];
    const starts = () => task.starts;
    const row = el("fieldset", { class: "tokens" });
    const message = el("p", { class: "message", role: "status", "aria-live": "polite", id: "sequence-message" });
    const made = whatwhere.chart.chart({
      name: "hops",
      title: "Hops",
      alt: "The hops of the sequence above, and the sequence after each application of the ideal function",
      rows: () => {
        const all = [tokens];
        for (let t = 0; t < APPLICATIONS; t++) all.push(apply(task, all.at(-1)));
        return all.flatMap((one, application) => one.map((token, position) => ({ task: task.name, application, position, token })));
      },
      draw: (width) => (tokens.every((token) => read(task, token)) ? picture(task, tokens, width) : el("p", { class: "note" }, "Mend the marked token to see the hops.")),
    });

    const expected = () => (task.name === "number" ? `a symbol (${task.names[0]} to ${task.names[task.symbols - 1]}) or an integer from 1 to ${task.integers}` : `a letter (a to ${task.names.at(-1)[0]}) followed by a letter or by an integer from 1 to ${task.integers}`);
    function show() {
      const inputs = [...row.querySelectorAll("input")];
      const wrong = tokens.findIndex((token) => !read(task, token));
      inputs.forEach((input, position) => input.setAttribute("aria-invalid", String(!read(task, tokens[position]))));
      message.classList.toggle("wrong", wrong >= 0);
      if (wrong >= 0) message.textContent = `Position ${wrong}: “${tokens[wrong]}” is no token of this task. Expected ${expected()}.`;
      else {
        const found = follow(task, tokens);
        message.classList.toggle("wrong", Boolean(found.error));
        const hops = found.path.length - 1;
        message.textContent = found.error ? `No answer: ${found.error}` : hops ? `${hops} hop${hops > 1 ? "s" : ""}, ${found.path.map((p) => `${tokens[p]} (${p})`).join(" → ")}: the answer is ${found.answer}.` : `The last token points nowhere, so it is its own answer: ${found.answer}.`;
      }
      made.redraw();
    }
    function start() {
      tokens = [...starts()[chosen].tokens];
      row.replaceChildren(
        el("legend", { class: "visually-hidden" }, "Tokens of the sequence"),
        ...tokens.map((token, position) => {
          const input = el("input", { type: "text", value: token, size: 3, maxlength: 4, autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-describedby": "sequence-message" });
          input.addEventListener("input", () => {
            tokens[position] = input.value.trim();
            show();
          });
          const kind = position === tokens.length - 1 ? "query" : position < task.target ? "target" : "";
          return el("label", { class: kind }, position === tokens.length - 1 ? `${position} query` : String(position), input);
        }),
      );
      show();
    }
    const options = () => starts().map((one, i) => [i, `${one.hops} hop${one.hops > 1 ? "s" : ""} (${i + 1})`]);
    const example = whatwhere.controls.select({ label: "Start from", options: options(), value: 0, onChange: (value) => { chosen = Number(value); start(); } });
    const kind = whatwhere.controls.select({
      label: "Task", options: models.map((name) => [name, name]), value: models[0],
      onChange: (name) => { ({ task } = data.models[name]); chosen = 0; example.fill(options(), 0); start(); },
    });
    const reset = el("button", { type: "button", on: { click: start } }, "Undo my edits");
    start();
    return el("div", {}, el("div", { class: "controls" }, kind.element, example.element, reset), row, message, made.element);
  }

  whatwhere.part({
    id: "sequence", nav: "Hops", title: "Hop yourself", order: 40, make: sequence,
    intro: "Edit any token. The arcs follow the hops from the last token; the rows show what the ideal function (Index for numbers, Retrieval for letters) makes of the whole sequence, applied again and again. A sequence of h hops needs h applications, and more do no harm. Positions count from 0.",
  });
})();
