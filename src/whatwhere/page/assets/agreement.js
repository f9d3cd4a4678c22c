"use strict";
/* The page of a comparison: two tables of head scores, head by head. */
(() => {
  const { el, significant } = whatwhere.dom;
  const { data } = whatwhere;
  const { chart, plot, KINDS } = whatwhere.chart;
  const name = (row) => `${row.layer}.${row.head}`;
  const other = data.heads.filter((row) => !row.same);

  /** One score of every head in both tables. */
  function scatter(kind) {
    const rows = data.heads.filter((row) => row[`${kind}_a`] !== null && row[`${kind}_b`] !== null);
    const correlation = data.correlations[kind];
    return chart({
      name: `agreement-${kind}`,
      title: `${kind} score${correlation === null ? "" : ` (rank correlation ${significant(correlation)})`}`,
      alt: `The ${kind} score of ${rows.length} heads in both tables; the table below has every number.`,
      rows: () => rows,
      draw: (width) =>
        plot({
          width, height: Math.min(width, 380), x: { domain: [0, 1], label: "A", grid: true }, y: { domain: [0, 1], label: "B", grid: true },
          marks: [
            Plot.link([0], { x1: 0, y1: 0, x2: 1, y2: 1, stroke: "var(--soft)" }),
            Plot.dot(rows, {
              x: `${kind}_a`, y: `${kind}_b`, r: 3.5, symbol: (row) => (row.same ? "circle" : "times"),
              stroke: (row) => (row.same ? KINDS[kind].color : "var(--text)"),
              title: (row) => `head ${name(row)}: ${row.label_a} in A, ${row.label_b} in B`,
            }),
          ],
        }),
      note: "Crosses are heads whose label is another.",
    }).element;
  }

  function labels() {
    const columns = Object.keys(data.confusion);
    const rows = columns.map((label) => ({ label, ...data.confusion[label] }));
    const numbers = columns.map((label) => [`${label} in B`, (row) => String(row[label]), "number"]);
    return whatwhere.table.table([["label in A", (row) => row.label], ...numbers], rows, "How many heads have which label in A and in B");
  }

  function heads() {
    const number = (column) => [column.replaceAll("_", " "), (row) => (row[column] === null ? "" : significant(row[column])), "number"];
    const columns = [["head", name], ["label in A", (row) => row.label_a], ["label in B", (row) => row.label_b], ...["positional_a", "positional_b", "symbolic_a", "symbolic_b"].map(number)];
    const caption = other.length ? "The heads with another label" : "All heads; no label is another";
    return [whatwhere.table.table(columns, other.length ? other : data.heads, caption), whatwhere.table.csvButton("agreement", () => data.heads)];
  }

  const only = data.left_out ? ` ${data.left_out} heads are in one table only.` : "";
  whatwhere.lead(() => `A: ${data.names[0]}. B: ${data.names[1]}. ${data.heads.length} heads in both, ${data.heads.length - other.length} with the same label.${only}`);
  whatwhere.part({ id: "scores", nav: "Scores", title: "Both scores, head by head", order: 10, make: () => el("div", { class: "columns" }, scatter("positional"), scatter("symbolic")) });
  whatwhere.part({ id: "labels", nav: "Labels", title: "Which labels agree", order: 20, make: labels });
  whatwhere.part({ id: "heads", nav: "Heads", title: other.length ? "Which heads do not" : "All heads", order: 30, make: heads });
})();
