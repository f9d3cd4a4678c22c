"use strict";
/* What scripts of parts hand in; page.js and the parts that belong to no study show it. */
(() => {
  const kept = { sections: [], tiles: [], leads: [], scores: [], facts: [], panels: [] };

  Object.assign(whatwhere, {
    kept,
    /**
     * A section of the page. make(): its content, or null if it has nothing to show; nav: its name in the navigation;
     * order: small numbers come first.
     */
    part: ({ id, nav, title, intro, order = 50, make }) => kept.sections.push({ id, nav, title, intro, order, make }),
    /** A number for the top: [value, text] for each that make() returns. */
    tiles: (make) => kept.tiles.push(make),
    /** The sentence below the heading; null if there is none. */
    lead: (make) => kept.leads.push(make),
    /** Scores of a model's heads: find(model, step) returns rows with layer and head, or null. */
    headScores: (find) => kept.scores.push(find),
    /** Facts of the chosen head: [name, text] for each. */
    headFacts: (find) => kept.facts.push(find),
    /** A figure of the chosen head, on the left or on the right; null if there is nothing to show. */
    headPanel: (side, make) => kept.panels.push({ side, make }),
  });

  /** The scores of every head of a model at a step: a map from "layer,head" to its row; the first study that has them. */
  whatwhere.scoresAt = (model, step) => {
    for (const find of kept.scores) {
      const rows = find(model, step);
      if (rows?.length) return new Map(rows.map((row) => [`${row.layer},${row.head}`, row]));
    }
    return new Map();
  };
})();
