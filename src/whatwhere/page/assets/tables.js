"use strict";
/* The results by task as rows, and what the reader has chosen. */
(() => {
  const { data } = whatwhere;
  const kept = new Map();

  /** A table that travelled by column, as rows; null if it was not made. */
  function rows(columns) {
    if (!columns) return null;
    const names = Object.keys(columns);
    return (columns[names[0]] ?? []).map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  }

  /** A table of a task's run: results("number", "scores"). */
  function results(task, table) {
    const name = `${task}/${table}`;
    if (!kept.has(name)) kept.set(name, rows(data.tasks[task]?.[table]));
    return kept.get(name);
  }

  const tasks = Object.keys(data.tasks);
  const steps = d3.sort(new Set(tasks.flatMap((task) => data.tasks[task].scores?.step ?? data.tasks[task].metrics?.step ?? [])));

  const listeners = [];
  const state = { task: tasks[0], layer: 0, head: 0, step: steps.at(-1) ?? 0 };
  /** Changes what is chosen, and tells those who show it. */
  function choose(change) {
    Object.assign(state, change);
    for (const listener of listeners) listener(state, change);
  }
  /** Calls back with the state and what changed in it. */
  const onChoice = (listener) => listeners.push(listener);

  /** The scores of every head at the last checkpoint up to a step: a map from "layer,head" to its row. */
  function scoresAt(task, step) {
    const all = results(task, "scores") ?? [];
    const last = d3.max(all, (row) => (row.step <= step ? row.step : undefined));
    return new Map(all.filter((row) => row.step === last).map((row) => [`${row.layer},${row.head}`, row]));
  }
  /** Layers and heads of a task's model. */
  function shape(task) {
    const all = results(task, "scores") ?? results(task, "ids") ?? [];
    return { layers: 1 + (d3.max(all, (row) => row.layer) ?? -1), heads: 1 + (d3.max(all, (row) => row.head) ?? -1) };
  }

  Object.assign(whatwhere, { rows, results, tasks, steps, state, choose, onChoice, scoresAt, shape });
})();
