"use strict";
/*
 * The margin of the hand-built heads against length, for any angle and alphabet: discrepancies and their bounds, as
 * whatwhere.theory.discrepancy has them, for beta = 1.
 */
(() => {
  const { el, significant } = whatwhere.dom;
  const { chart, plot, KINDS } = whatwhere.chart;
  const FLOOR = 1e-9;

  /** 1 - cos(t theta) as 2 sin^2(t theta / 2), which keeps its digits when it is tiny. */
  const gap = (t, theta) => 2 * Math.sin((t * theta) / 2) ** 2;

  /** T_Index, smallest over inputs, at every length from 2 to `longest`: the least gap so far. */
  function indexSmallest(longest, theta) {
    let least = Infinity;
    return d3.range(2, longest + 1).map((n) => (least = Math.min(least, gap(n - 1, theta))));
  }
  /** min{1 - cos theta, 2 pi^2 / n^2}: printed for the largest, and true for the smallest. */
  const indexBound = (n, theta) => Math.min(1 - Math.cos(theta), (2 * Math.PI ** 2) / n ** 2);

  /** T_Retrieval, smallest over inputs; below 0 a wrong token wins on some input. */
  function retrievalSmallest(n, theta, letters) {
    const omega = (2 * Math.PI) / letters;
    if (n === 2) return Math.cos(theta) - Math.cos(omega);
    return 2 * Math.sin((omega - theta) / 2) * Math.sin((omega - (2 * n - 3) * theta) / 2);
  }
  /** The corrected bound, 1 - cos(omega - (n - 1) theta), and 0 once that angle is used up. */
  function retrievalBound(n, theta, letters) {
    const farthest = n > 2 ? n - 1 : 0;
    return 1 - Math.cos(Math.max(0, (2 * Math.PI) / letters - farthest * theta));
  }
  /** Theorem 2 as printed: off by one, and rising again past n = omega / theta. */
  const retrievalPrinted = (n, theta, letters) => 1 - Math.cos((2 * Math.PI) / letters - n * theta);

  /** The last length at which T_Retrieval can be right on every input: (2n - 3) theta < omega. */
  function retrievalEnd(theta, letters) {
    return theta > 0 ? Math.max(1, Math.ceil(((2 * Math.PI) / letters / theta + 3) / 2) - 1) : Infinity;
  }

  // A test holds them and whatwhere.theory.discrepancy together.
  whatwhere.forms = { indexSmallest, indexBound, retrievalSmallest, retrievalBound, retrievalPrinted, retrievalEnd };

  function discrepancy() {
    // The angles of Figure 5A: frequency IDs 2 and 42 of 64 with base 10,000.
    const chosen = { index: 0.866, retrieval: 0.0027, letters: 8, longest: 100, log: true };
    const rows = () => {
      const exact = indexSmallest(chosen.longest, chosen.index);
      return d3.range(2, chosen.longest + 1).map((n) => {
        const margin = retrievalSmallest(n, chosen.retrieval, chosen.letters);
        return {
          n,
          index_theta: chosen.index,
          index_smallest: exact[n - 2],
          index_bound: indexBound(n, chosen.index),
          retrieval_theta: chosen.retrieval,
          letters: chosen.letters,
          retrieval_smallest: n <= retrievalEnd(chosen.retrieval, chosen.letters) ? margin : null,
          retrieval_bound: retrievalBound(n, chosen.retrieval, chosen.letters),
          retrieval_printed: retrievalPrinted(n, chosen.retrieval, chosen.letters),
        };
      });
    };
    const sentence = el("p", { class: "sentence", "aria-live": "polite", id: "discrepancy-sentence" });
    const made = chart({
      name: "discrepancy",
      title: "Smallest discrepancy over all inputs of a length (lines), and bounds (dotted)",
      alt: "Margins of the Index and the Retrieval construction against input length",
      rows,
      draw: (width) => {
        const found = rows();
        const top = 1.1 * d3.max(found, (row) => Math.max(row.index_bound, row.retrieval_bound));
        const least = d3.min(found, (row) => Math.max(FLOOR, Math.min(row.index_smallest, row.retrieval_smallest ?? Infinity)));
        const decades = d3.range(Math.floor(Math.log10(least) - 0.05), Math.log10(top)).map((power) => 10 ** power);
        const ticks = chosen.log ? decades : d3.ticks(0, top, 5);
        const shown = (name) => ({ x: "n", y: (row) => (row[name] === null ? NaN : Math.max(row[name], chosen.log ? FLOOR : 0)) });
        return plot({
          width, height: 340, marginBottom: 36, marginLeft: 48, marginRight: 16,
          x: { label: "tokens", domain: [2, chosen.longest] },
          y: { type: chosen.log ? "log" : "linear", axis: null, domain: chosen.log ? [decades[0], top] : [0, top] },
          marks: [
            Plot.axisY(ticks, { text: (value) => (chosen.log ? `1e${Math.round(Math.log10(value))}` : String(value)), label: null, tickSize: 0 }),
            Plot.gridY(ticks),
            chosen.longest >= 17 ? Plot.ruleX([17], { stroke: "var(--line)" }) : null,
            chosen.longest >= 17 ? Plot.text([17], { x: Number, frameAnchor: "top", text: () => "trained on 17", dx: 4, textAnchor: "start", fill: "var(--soft)" }) : null,
            Plot.lineY(found, { ...shown("index_bound"), stroke: KINDS.positional.color, strokeWidth: 1.3, strokeDasharray: "1 3" }),
            Plot.lineY(found, { ...shown("retrieval_bound"), stroke: KINDS.symbolic.color, strokeWidth: 1.3, strokeDasharray: "1 3" }),
            Plot.lineY(found, { ...shown("index_smallest"), stroke: KINDS.positional.color, strokeWidth: 2.2, curve: "step" }),
            Plot.lineY(found, { ...shown("retrieval_smallest"), stroke: KINDS.symbolic.color, strokeWidth: 2.2, strokeDasharray: KINDS.symbolic.dash }),
            Plot.tip(found, Plot.pointerX({ x: "n", y: (row) => Math.max(row.index_smallest, chosen.log ? FLOOR : 0), title: (row) => `${row.n} tokens\nIndex ${significant(row.index_smallest)} (bound ${significant(row.index_bound)})\nRetrieval ${row.retrieval_smallest === null ? "fails" : significant(row.retrieval_smallest)} (bound ${significant(row.retrieval_bound)})`, fill: "var(--ground)" })),
          ],
        });
      },
    });
    function show() {
      const end = retrievalEnd(chosen.retrieval, chosen.letters);
      const last = rows().at(-1);
      const ends = end === Infinity ? "at every length" : `up to ${end.toLocaleString("en")} tokens`;
      sentence.textContent = `At ${last.n} tokens Index has ${significant(last.index_smallest)} left, Retrieval ${last.retrieval_smallest === null ? "none" : significant(last.retrieval_smallest)}. Retrieval over ${chosen.letters} letters can be right on every input ${ends}.`;
      made.redraw();
    }
    const control = (label, key, options) => whatwhere.controls.slider({ label, ...options, onInput: (value) => { chosen[key] = options.to ? options.to(value) : value; show(); } });
    const angle = (label, key, min, max) =>
      control(label, key, { min: Math.log10(min), max: Math.log10(max), step: 0.0001, value: Math.log10(chosen[key]), to: (value) => 10 ** value, format: (value) => significant(10 ** value, 4) });
    const sliders = {
      index: angle("θ of Index (radians per position)", "index", 0.001, Math.PI),
      retrieval: angle("θ of Retrieval", "retrieval", 0.00005, 1),
      letters: control("Alphabet (letters)", "letters", { min: 2, max: 52, value: chosen.letters }),
      longest: control("Length up to", "longest", { min: 20, max: 1000, step: 5, value: chosen.longest }),
    };
    for (const [name, one] of Object.entries(sliders)) one.input.dataset.control = name;
    const log = whatwhere.controls.toggle({ label: "logarithmic", value: chosen.log, onChange: (value) => { chosen.log = value; show(); } });
    const reset = el("button", { type: "button", on: { click: () => {
      sliders.index.value = Math.log10(0.866);
      sliders.retrieval.value = Math.log10(0.0027);
      sliders.letters.value = 8;
      sliders.longest.value = 100;
    } } }, "The paper’s values");
    const key = whatwhere.chart.key([
      ["Index, exact", KINDS.positional.color, null],
      ["Retrieval, exact; it ends where a wrong key can win", KINDS.symbolic.color, KINDS.symbolic.dash],
      ["bounds: min{1 − cos θ, 2π²/n²} and 1 − cos(ω − (n − 1)θ), ω = 2π/letters", "var(--soft)", "1 3"],
    ]);
    show();
    return el("div", {}, el("div", { class: "controls" }, Object.values(sliders).map((one) => one.element), log.element, reset), key, made.element, sentence);
  }

  whatwhere.part({
    id: "discrepancy", nav: "Margin", title: "How much margin is left", make: discrepancy,
    intro: "The hand-built heads of the paper’s theorems attend to the wanted key with a margin over all others, the discrepancy. Its smallest value over all inputs of a length decides whether the head can be relied upon. These curves are computed here from closed forms.",
  });
})();
