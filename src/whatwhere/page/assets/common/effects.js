"use strict";
/* What changes do to an outcome that the reader chooses: a dot with its interval over seeds for each change and task. */
(() => {
  const { el, significant } = whatwhere.dom;
  const { chart, plot, lookOf } = whatwhere.chart;

  /**
   * name: of the CSV file; title: above it; rows: with task, outcome and an estimate; value: the name of that estimate;
   * first: the outcome that is chosen at first; words: outcomes in words; label(row): the change.
   */
  function effects({ name, title, rows, value, first, words, label }) {
    const known = rows.filter((row) => row[value] !== null);
    if (!known.length) return null;
    const outcomes = [...new Set(known.map((row) => row.outcome))];
    const chosen = { outcome: outcomes.includes(first) ? first : outcomes[0] };
    const here = () => known.filter((row) => row.outcome === chosen.outcome);
    const low = `${value}_low`;
    const high = `${value}_high`;
    const made = chart({
      name,
      title,
      alt: "What each change does to the chosen outcome",
      rows: here,
      draw: (width) => {
        const found = here();
        const reach = 1.6 * (d3.max(found, (row) => Math.abs(row[value])) || 1);
        const labels = [...new Set(found.map(label))];
        return plot({
          width, height: 60 + 26 * labels.length, marginLeft: Math.max(130, 6 * d3.max(labels, (text) => text.length) + 12), marginRight: 16,
          x: { domain: [-reach, reach], label: value.replaceAll("_", " "), grid: true, clamp: true },
          y: { label: null, domain: labels },
          marks: [
            Plot.ruleX([0], { stroke: "var(--line)" }),
            ...["number", "letter"].flatMap((task) => {
              const mine = found.filter((row) => row.task === task);
              const { color, symbol } = lookOf(task);
              const dy = task === "number" ? -4 : 4;
              return [
                Plot.ruleY(mine.filter((row) => row[low] !== null), { y: label, x1: low, x2: high, stroke: color, dy }),
                Plot.dot(mine, { y: label, x: value, fill: color, symbol, r: 4, dy, title: (row) => `${row.task}, ${label(row)}\n${significant(row[value])} (${row[low] === null ? "no interval" : `${significant(row[low])} to ${significant(row[high])}`}), ${row[`${value}_n`]} seeds` }),
              ];
            }),
          ],
        });
      },
      note: "● number task, ■ letter task. Three seeds give wide intervals; they end at the edge of the drawing.",
    });
    const outcome = whatwhere.controls.select({ label: "Outcome", options: outcomes.map((one) => [one, words[one] ?? one.replaceAll("_", " ")]), value: chosen.outcome, onChange: (one) => { chosen.outcome = one; made.redraw(); } });
    return el("div", {}, el("div", { class: "controls" }, outcome.element), made.element);
  }

  whatwhere.effects = effects;
})();
