"use strict";
/* Letters or distances: the answers of a model where the two cues disagree, at every length. */
(() => {
  const { el, number } = whatwhere.dom;
  const { results, modelsWith } = whatwhere;
  const { chart, plot, key, KINDS } = whatwhere.chart;
  const STUDY = "preference";
  const MEAN = "mean"; // a hop of null in the tables
  const RIGHT = { color: "var(--soft)", dash: "2 2", symbol: "diamond" };
  const ofHop = (row, hop) => (hop === MEAN ? row.hop === null : row.hop === Number(hop));

  function preference() {
    const models = modelsWith(STUDY, "answers");
    if (!models.length) return null;
    const chosen = { model: models[0], hop: MEAN, where: "every" };
    const answers = () => results(chosen.model, STUDY, "answers").filter((row) => ofHop(row, chosen.hop) && row.where === chosen.where);
    const accuracy = () => results(chosen.model, STUDY, "accuracy").filter((row) => ofHop(row, chosen.hop));
    const lines = () => [
      ...["symbolic", "positional"].map((reading) => ({ name: reading, look: KINDS[reading], rows: d3.sort(answers().filter((row) => row.reading === reading), (row) => row.length) })),
      { name: "right where the cues agree", look: RIGHT, rows: d3.sort(accuracy().map(({ accuracy, accuracy_low, accuracy_high, accuracy_n, ...row }) => ({ ...row, share: accuracy, share_low: accuracy_low, share_high: accuracy_high, share_n: accuracy_n })), (row) => row.length) },
    ];
    const tip = (name) => (row) => `${name}, ${row.length} tokens\n${number(row.share, 3)} (${number(row.share_low, 3)} to ${number(row.share_high, 3)}), ${row.share_n} inputs`;
    const made = chart({
      name: "preference",
      title: "Answers against input length",
      alt: "Share of symbolic and of positional answers where letters and distances disagree, and of right answers where they agree",
      rows: () => lines().flatMap(({ name, rows }) => rows.map((row) => ({ line: name, ...row }))),
      draw: (width) => {
        const lengths = d3.sort(new Set(accuracy().map((row) => row.length)));
        return plot({
          width, height: 300, marginBottom: 36,
          x: { type: "log", axis: null, domain: d3.extent(lengths) },
          y: { domain: [0, 1], label: null, grid: true, ticks: 5 },
          marks: [
            Plot.axisX(lengths, { text: String, label: "tokens" }),
            ...lines().flatMap(({ name, look, rows }) => [
              Plot.areaY(rows, { x: "length", y1: "share_low", y2: "share_high", fill: look.color, fillOpacity: 0.14 }),
              Plot.lineY(rows, { x: "length", y: "share", stroke: look.color, strokeWidth: 2.2, strokeDasharray: look.dash }),
              Plot.dot(rows, { x: "length", y: "share", fill: look.color, symbol: look.symbol, r: 3.5, title: tip(name) }),
            ]),
          ],
        });
      },
      note: "Bands are 95 % intervals. On inputs whose cues disagree, the letters lead to one answer and the distances to another; what is missing to 1 is neither.",
    });
    const select = (label, name, options) => whatwhere.controls.select({ label, options, value: chosen[name], onChange: (value) => { chosen[name] = value; made.redraw(); } }).element;
    const hops = d3.sort(new Set(results(chosen.model, STUDY, "accuracy").map((row) => row.hop).filter((hop) => hop !== null)));
    const heads = models.flatMap((model) => (results(model, STUDY, "heads") ?? []).map((row) => ({ model, ...row })));
    return el(
      "div",
      {},
      el("p", {}, "In this task each pointer names a letter and a distance, and in training both point at the same token. So a model may learn to look at what a token is, or at where it stands. Inputs whose cues disagree tell which it learned."),
      el(
        "div",
        { class: "controls" },
        models.length > 1 ? select("Model", "model", models.map((name) => [name, name])) : null,
        select("Hops", "hop", [[MEAN, "mean over hops"], ...hops.map((hop) => [hop, String(hop)])]),
        select("Cues disagree on", "where", [["every", "every hop"], ["last", "the last hop"]]),
      ),
      made.element,
      key(lines().map(({ name, look }) => [name, look.color, look.dash])),
      heads.length
        ? whatwhere.table.table(
            [
              ["Model", (row) => row.model],
              ["Head", (row) => `${row.layer}.${row.head}`],
              ["positional", (row) => number(row.positional, 2), "number"],
              ["symbolic", (row) => number(row.symbolic, 2), "number"],
            ],
            heads,
            "Scores of the heads at the training length, over the pointers of the path",
          )
        : null,
    );
  }

  whatwhere.part({ id: "preference", nav: "Preference", title: "Letters or distances", make: preference });
})();
