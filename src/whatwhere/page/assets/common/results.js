"use strict";
/* Results by model and study as rows, and what the reader has chosen. Results about no model have the model "". */
(() => {
  const { data } = whatwhere;
  const kept = new Map();
  const models = Object.keys(data.models ?? {});
  const content = (model, study) => data.results?.[model]?.[study] ?? null;

  /** A table that travelled by column, as rows; null if it was not made. */
  function rows(columns) {
    if (!columns) return null;
    const names = Object.keys(columns);
    return (columns[names[0]] ?? []).map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  }

  /** A table of a study: results("number", "dynamics", "scores"). */
  function results(model, study, table) {
    const name = JSON.stringify([model, study, table]);
    if (!kept.has(name)) kept.set(name, rows(content(model, study)?.tables[table]));
    return kept.get(name);
  }
  /** What a study gave besides its tables. */
  const extra = (model, study) => content(model, study)?.extra ?? null;
  const settings = (model, study) => content(model, study)?.settings ?? null;
  /** The models that have a table. */
  const modelsWith = (study, table) => models.filter((model) => results(model, study, table)?.length);

  const listeners = [];
  const state = { model: models[0], layer: 0, head: 0, step: null };
  /** Changes what is chosen, and tells those who show it. */
  function choose(change) {
    Object.assign(state, change);
    for (const listener of listeners) listener(state, change);
  }
  /** Calls back with the state and what changed in it. */
  const onChoice = (listener) => listeners.push(listener);
  /** Calls back when another head was chosen. */
  const onHead = (listener) => onChoice((_, change) => ("model" in change || "layer" in change) && listener());
  /** The rows of a table that are about the chosen head. */
  const ofHead = (study, table) => (results(state.model, study, table) ?? []).filter((row) => row.layer === state.layer && row.head === state.head);

  Object.assign(whatwhere, { rows, results, extra, settings, models, modelsWith, state, choose, onChoice, onHead, ofHead });
})();
