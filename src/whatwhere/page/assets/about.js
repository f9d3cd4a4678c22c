"use strict";
/* Times beside the authors', and what the results were made with. */
(() => {
  const { el } = whatwhere.dom;
  const { data, models } = whatwhere;

  const duration = (seconds) => spell(seconds).replaceAll(" ", "\u00a0");
  const spell = (seconds) => {
    if (seconds === null || seconds === undefined) return "";
    if (seconds < 60) return `${seconds.toFixed(1)} s`;
    const minutes = Math.round(seconds / 60);
    return minutes < 60 ? `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  };

  function timing() {
    const rows = whatwhere.rows(data.timing);
    if (!rows) return null;
    return el(
      "div",
      {},
      whatwhere.table.table(
        [
          ["Job", (row) => row.job],
          ["Here", (row) => duration(row.seconds), "number"],
          ["Authors, GPU", (row) => duration(row.authors_gpu_seconds), "number"],
          ["Authors, CPU", (row) => duration(row.authors_cpu_seconds), "number"],
        ],
        rows,
        "Time of each job, beside the compute table of the paper (one RTX A5000; a 16-core EPYC)",
      ),
      whatwhere.table.csvButton("timing", () => rows),
    );
  }

  /** Recipe, data and seeds of one model, in a few words. */
  whatwhere.provenance = (model) => {
    const { run, task, seeds } = data.models[model];
    const words = [
      run ? (run.shipped ? `shipped with whatwhere, preset ${run.training.preset}` : `preset ${run.training.preset}`) : null,
      task?.generator ? `data “${task.generator}”` : null,
      seeds.length ? `seed${seeds.length > 1 ? "s" : ""} ${seeds.join(", ")}` : null,
    ];
    const known = words.filter(Boolean).join(", ");
    return known ? `${model} (${known})` : model;
  };

  const flat = (value, prefix = "") => Object.entries(value).flatMap(([key, one]) => (one && typeof one === "object" && !Array.isArray(one) ? flat(one, `${prefix}${key}.`) : [{ setting: prefix + key, value: Array.isArray(one) ? one.join(", ") : String(one ?? "–") }]));
  const list = (title, rows, first = []) => el("details", {}, el("summary", {}, title), whatwhere.table.table([...first, ["Setting", (row) => row.setting], ["Value", (row) => row.value]], rows, title));

  function settings() {
    const runs = models.filter((model) => data.models[model].run).map((model) => list(`Settings of the ${model} run`, flat(data.models[model].run)));
    const rows = Object.entries(data.results).flatMap(([model, found]) => Object.entries(found).flatMap(([study, { settings: chosen }]) => flat(chosen).map((row) => ({ study, model, ...row }))));
    return [...runs, rows.length ? list("Settings of the studies", rows, [["Study", (row) => row.study], ["Model", (row) => row.model]]) : null];
  }

  function about() {
    return el(
      "div",
      {},
      el("p", {}, "Every number on this page is read from the tables of the results; only the discrepancy curves, the ideal functions and the swaps are computed here, from closed forms. Undefined numbers are dashes. ● and solid lines are positional or the number task, ■ and dashed lines symbolic or the letter task."),
      timing(),
      settings(),
    );
  }

  whatwhere.lead(() => {
    const known = models.map(whatwhere.provenance).join("; ");
    return data.kind === "study" ? (known ? `Model: ${known}.` : null) : `Results: ${data.name}; ${known}.`;
  });
  whatwhere.part({ id: "about", nav: "About", title: "How this was made", order: 100, make: about });
})();
