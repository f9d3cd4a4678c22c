"use strict";
/* What doubling each size costs, and every run with its sizes. */
(() => {
  const { el, number } = whatwhere.dom;
  const { results, extra, modelsWith } = whatwhere;
  const STUDY = "vocabularies";
  const [name] = modelsWith(STUDY, "runs"); // a sweep is no model, but its results lie where those of a model would
  const all = (table) => results(name, STUDY, table) ?? [];

  function vocabularies() {
    if (!name) return null;
    const { outcomes, factors } = extra(name, STUDY) ?? { outcomes: {}, factors: {} };
    const label = (row) => `${factors[row.factor] ?? row.factor}${row.at === "base" ? "" : ` (${row.at})`}`;
    const drawn = whatwhere.effects({ name: "vocabularies-costs", rows: all("costs"), value: "per_doubling", first: "steps", words: outcomes, label, title: "What doubling a size adds, with 95 % intervals over seeds" });
    const whole = (value) => (value === null ? "–" : String(Math.round(value)));
    return el(
      "div",
      {},
      el("p", {}, "Sizes are changed one at a time. Steps are in doublings: 1 means that twice the size takes twice the steps. A run that did not learn counts with all of its steps, so costs in steps are lower bounds then."),
      drawn,
      whatwhere.table.table(
        [
          ["Task", (row) => row.task],
          ["Condition", (row) => row.condition],
          ["seed", (row) => row.seed, "number"],
          ["tokens", (row) => row.tokens, "number"],
          ["hops", (row) => row.hops, "number"],
          ["vocabulary", (row) => row.vocabulary, "number"],
          ["learned", (row) => (row.learned ? "yes" : "no")],
          ["steps", (row) => whole(row.steps), "number"],
          ["accuracy", (row) => number(row.accuracy, 2), "number"],
          ["pure heads", (row) => number(row.pure_share, 2), "number"],
          ["breaks at", (row) => whole(row.break_length), "number"],
        ],
        all("runs"),
        "Every run; steps until the last hop class reaches 0.9, the share of heads that end pure, and the tokens at which accuracy falls below one half",
      ),
    );
  }

  whatwhere.part({ id: "vocabularies", nav: "Sizes", title: "Length, hops or vocabulary", order: 55, make: vocabularies });
})();
