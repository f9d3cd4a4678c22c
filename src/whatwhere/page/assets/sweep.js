"use strict";
/* The page of a sweep: accuracy by group, the heads of all items, and the table. */
(() => {
  const { el, significant } = whatwhere.dom;
  const { data } = whatwhere;
  const groupOf = new Map(Object.entries(data.groups).flatMap(([group, items]) => items.map((item) => [item, group])));
  const done = data.rows.filter((row) => row.status === "done");
  const hops = Object.keys(data.rows[0]).filter((name) => name.startsWith("accuracy_hop"));
  const groups = Object.keys(data.groups);
  const HOPS = ["#1f3b73", "#2f6db5", "#5a9bd8", "#8fc1ea"]; // one to four hops, dark to light, as in the figures

  document.getElementById("theme").append(whatwhere.themeButton());
  document.getElementById("name").textContent = data.name;
  document.getElementById("lead").textContent =
    `${data.rows.length} items, ${done.length} done` + (data.varied.length ? `; varied: ${data.varied.join(", ")}.` : ".");

  const accuracies = done.flatMap((row) =>
    hops.filter((name) => row[name] !== "").map((name) => ({ item: row.item, group: groupOf.get(row.item), hops: Number(name.slice(-1)), accuracy: Number(row[name]) })),
  );
  const margin = 40 + 6.5 * Math.min(40, d3.max(groups, (name) => name.length) ?? 0);
  const accuracy = whatwhere.chart.chart({
    name: "accuracy",
    title: "Share of right answers on held-out sequences",
    note: "In each line one hop is on top and darkest, the most hops below and lightest.",
    alt: `Accuracy of ${done.length} items by hop class; the table below has every number.`,
    rows: () => accuracies,
    draw: (width) =>
      whatwhere.chart.plot({
        width,
        height: 60 + 34 * Math.max(groups.length, 1),
        marginLeft: Math.min(margin, width / 2),
        x: { domain: [0, 1], label: "accuracy", grid: true },
        y: { domain: groups, label: null },
        marks: hops.map((_, i) =>
          Plot.dot(accuracies.filter((d) => d.hops === i + 1), {
            x: "accuracy", y: "group", fill: HOPS[i % HOPS.length], stroke: "currentColor", strokeWidth: 0.5, r: 4,
            dy: 6 * (i - (hops.length - 1) / 2), tip: true, channels: { item: "item", hops: "hops" },
          }),
        ),
      }),
  });
  document.getElementById("accuracy").append(done.length ? accuracy.element : el("p", {}, "No item is done yet."));

  const heads = data.heads.map((row) => ({
    item: row.item, group: groupOf.get(row.item), layer: Number(row.layer), head: Number(row.head),
    positional: row.positional === "" ? null : Number(row.positional), symbolic: row.symbolic === "" ? null : Number(row.symbolic),
  }));
  const scatter = whatwhere.chart.chart({
    name: "heads",
    title: "Symbolic score (up) against positional (across), by group",
    note: "The colour is the layer, from blue (first) to red (last).",
    alt: `The two scores of ${heads.length} heads; the CSV has every number.`,
    rows: () => heads,
    draw: (width) => {
      const columns = Math.max(1, Math.min(groups.length, Math.floor(width / 190)));
      const place = new Map(groups.map((name, i) => [name, [i % columns, Math.floor(i / columns)]]));
      return whatwhere.chart.plot({
        width,
        height: 40 + 190 * Math.ceil(groups.length / columns),
        x: { domain: [0, 1], label: null, ticks: 3, grid: true },
        y: { domain: [0, 1], label: null, ticks: 3, grid: true },
        fx: { axis: null },
        fy: { axis: null },
        color: { scheme: "turbo" },
        marks: [
          Plot.frame({ strokeOpacity: 0.25 }),
          Plot.text(groups, { fx: (d) => place.get(d)[0], fy: (d) => place.get(d)[1], frameAnchor: "top", dy: -10, text: (d) => d.slice(0, 30) }),
          Plot.dot(heads, { x: "positional", y: "symbolic", fx: (d) => place.get(d.group)[0], fy: (d) => place.get(d.group)[1], stroke: "layer", r: 3.5, tip: true, channels: { item: "item", layer: "layer", head: "head" } }),
        ],
      });
    },
  });
  document.getElementById("heads").append(heads.length ? scatter.element : el("p", {}, "No heads were scored."));

  const names = Object.keys(data.rows[0]).filter((name) => data.rows.some((row) => row[name] !== ""));
  const text = (value) => (value !== "" && Number.isFinite(Number(value)) ? significant(Number(value), 4) : value);
  const columns = names.map((name) => [name, (row) => text(row[name]), name === "item" || name === "problem" ? "" : "number"]);
  document.getElementById("items").append(whatwhere.table.table(columns, data.rows, "Every item with its settings and results"), whatwhere.table.csvButton("sweep", () => data.rows));
  document.documentElement.dataset.ready = "true";
})();
