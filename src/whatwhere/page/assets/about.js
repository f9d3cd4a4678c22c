"use strict";
/* Times beside the authors', and what the runs were made with. */
(() => {
  const { el } = whatwhere.dom;
  const { data } = whatwhere;

  const duration = (seconds) => spell(seconds).replaceAll(" ", "\u00a0");
  const spell = (seconds) => {
    if (seconds === null || seconds === undefined) return "";
    if (seconds < 60) return `${seconds.toFixed(1)} s`;
    const minutes = Math.round(seconds / 60);
    return minutes < 60 ? `${Math.floor(seconds / 60)} min ${String(Math.round(seconds % 60)).padStart(2, "0")} s` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
  };

  function timing() {
    const rows = whatwhere.rows(data.timing);
    if (!rows) return null;
    return el(
      "div",
      {},
      whatwhere.table.table(
        [
          ["Stage", (row) => row.stage],
          ["Here", (row) => duration(row.seconds), "number"],
          ["Authors, GPU", (row) => duration(row.authors_gpu_seconds), "number"],
          ["Authors, CPU", (row) => duration(row.authors_cpu_seconds), "number"],
        ],
        rows,
        "Time of each stage, beside the compute table of the paper (one RTX A5000; a 16-core EPYC)",
      ),
      whatwhere.table.csvButton("timing", () => rows),
    );
  }

  /** One line on what was trained, for the top of the page. */
  function provenance() {
    const run = whatwhere.tasks.map((task) => data.tasks[task].run).find(Boolean);
    if (!run) return `Results: ${data.name}.`;
    const { training, environment } = run;
    return `Results: ${data.name}; preset ${training.preset}, seed ${training.seed}, whatwhere ${environment?.whatwhere ?? "?"}.`;
  }

  function settings() {
    const runs = whatwhere.tasks.filter((task) => data.tasks[task].run);
    return runs.map((task) => {
      const { training, environment } = data.tasks[task].run;
      const flat = (value, prefix) => Object.entries(value).flatMap(([key, one]) => (one && typeof one === "object" && !Array.isArray(one) ? flat(one, `${prefix}${key}.`) : [{ setting: prefix + key, value: Array.isArray(one) ? one.join(", ") : String(one) }]));
      const rows = [...flat(training, ""), ...flat(environment ?? {}, "environment.")];
      return el("details", {}, el("summary", {}, `Settings of the ${task} run`), whatwhere.table.table([["Setting", (row) => row.setting], ["Value", (row) => row.value]], rows, `Settings of the ${task} run`));
    });
  }

  function about() {
    return el(
      "div",
      {},
      el("p", {}, "Every number on this page is read from the tables of the reproduction; only the discrepancy curves, the ideal functions and the swaps are computed here, from closed forms. Undefined numbers are dashes. ● and solid lines are positional or the number task, ■ and dashed lines symbolic or the letter task."),
      timing(),
      settings(),
    );
  }

  whatwhere.about = { about, provenance, duration };
})();
