"use strict";
/* Which head is open, and by which of the two kinds of scores the heads are shown; parts that care are told. */
(() => {
  const { heads } = whatwhere.data;
  const byPlace = new Map(heads.map((row) => [`${row.layer}.${row.head}`, row]));
  const KINDS = {
    paper: { name: "the paper’s: all keys", positional: "positional", symbolic: "symbolic", label: "label" },
    rest: { name: "beyond the first token", positional: "rest_positional", symbolic: "rest_symbolic", label: "rest_label" },
  };
  const listeners = [];
  /* To begin with, the most positional head: the most symbolic ones only look at the first token, often. */
  const lean = (row) => (row.positional ?? 0) - (row.symbolic ?? 1);
  const choice = { row: heads.reduce((best, row) => (lean(row) > lean(best) ? row : best), heads[0]), kind: "paper" };

  /** Both scores and the label of a head, of the kind that is shown. */
  const scores = (row, kind = choice.kind) => ({ positional: row[KINDS[kind].positional], symbolic: row[KINDS[kind].symbolic], label: row[KINDS[kind].label] });

  function change(to) {
    Object.assign(choice, to);
    for (const listener of listeners) listener();
  }

  whatwhere.choice = {
    choice, change, scores, KINDS,
    at: (layer, head) => byPlace.get(`${layer}.${head}`),
    open: (layer, head) => byPlace.has(`${layer}.${head}`) && change({ row: byPlace.get(`${layer}.${head}`) }),
    onChange: (listener) => listeners.push(listener),
  };
})();
