"use strict";
/* The page of a sweep: accuracy by group, what the studies measured, and the table. */
(() => {
  const { el, significant } = whatwhere.dom;
  const { data } = whatwhere;
  const { chart, plot } = whatwhere.chart;
  const names = data.rows.length ? Object.keys(data.rows[0]) : [];
  const done = data.rows.filter((row) => row.status === "done");
  const groups = [...new Set(data.rows.map((row) => row.group))];
  const hops = names.filter((name) => name.startsWith("accuracy_hop"));
  const margin = 40 + 6.5 * Math.min(40, d3.max(groups, (name) => name.length) ?? 0);
  const known = (value) => typeof value === "number";

  /** One mark for each item; items that differ only in their seed share a line. */
  function marks({ name, title, note, x, points, colour, shift }) {
    return chart({
      name, title, note,
      alt: `${title}, of ${done.length} items; the table below has every number.`,
      rows: () => points,
      draw: (width) =>
        plot({
          width, height: 60 + 34 * Math.max(groups.length, 1), marginLeft: Math.min(margin, width / 2),
          x: { grid: true, nice: true, ...x },
          y: { domain: groups, label: null },
          marks: d3.groups(points, shift).map(([dy, some]) => Plot.dot(some, { x: "value", y: "group", fill: colour, stroke: "var(--soft)", strokeWidth: 0.5, r: 4, dy, title: (row) => `${row.item}: ${row.what} ${significant(row.value)}` })),
        }),
    }).element;
  }

  function accuracy() {
    const points = done.flatMap((row) => hops.filter((name) => known(row[name])).map((name, i) => ({ item: row.item, group: row.group, what: name.replaceAll("_", " "), at: i, value: row[name] })));
    if (!points.length) return el("p", {}, "No item is done yet.");
    return marks({
      name: "accuracy", title: "Share of right answers on held-out sequences", note: "In each line one hop stands on top, the most hops below.",
      x: { domain: [0, 1], label: "accuracy" }, points, colour: (row) => `var(--hop${(row.at % 4) + 1})`, shift: (row) => 6 * (row.at - (hops.length - 1) / 2),
    });
  }

  function outcomes() {
    const columns = data.outcomes.filter((name) => !name.startsWith("accuracy") && done.some((row) => known(row[name])));
    if (!columns.length) return null;
    return el(
      "div",
      { class: "columns" },
      columns.map((name) => {
        const title = name.replaceAll("_", " ");
        const points = done.filter((row) => known(row[name])).map((row) => ({ item: row.item, group: row.group, what: title, value: row[name] }));
        return marks({ name, title, x: { label: null, ticks: 5 }, points, colour: "var(--accent)", shift: () => 0 });
      }),
    );
  }

  function items() {
    const shown = names.filter((name) => name !== "group" && data.rows.some((row) => row[name] !== null && row[name] !== ""));
    const text = (value) => (known(value) ? significant(value, 4) : String(value ?? ""));
    const columns = shown.map((name) => [name.replaceAll("_", " "), (row) => text(row[name]), data.rows.some((row) => known(row[name])) ? "number" : ""]);
    return [whatwhere.table.table(columns, data.rows, "Every item with its settings and results"), whatwhere.table.csvButton("sweep", () => data.rows)];
  }

  whatwhere.lead(() => `${data.rows.length} items, ${done.length} done${data.varied.length ? `; varied: ${data.varied.join(", ")}` : ""}.`);
  whatwhere.part({ id: "accuracy", nav: "Accuracy", title: "Accuracy", intro: "One mark for each item and hop class; items that differ only in their seed share a line.", order: 10, make: accuracy });
  whatwhere.part({ id: "outcomes", nav: "Studies", title: "What the studies measured", order: 20, make: outcomes });
  whatwhere.part({ id: "items", nav: "Items", title: "All items", order: 30, make: items });
})();
