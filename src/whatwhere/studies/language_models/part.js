"use strict";
/*
 * Every head of a model on a text or a task: the map, the open head with where it looks, and the list.
 * A page of a reproduction has its own maps, and this part just lends it the scores.
 */
(() => {
  const { el, number, significant } = whatwhere.dom;
  const { data, results, settings, heads: drawing } = whatwhere;
  const { chart, plot } = whatwhere.chart;
  const STUDY = "heads";
  const MOST = 5; // keys that are named in words
  const KINDS = {
    paper: { name: "the paper’s: all keys", positional: "positional", symbolic: "symbolic", label: "label" },
    rest: { name: "beyond the first token", positional: "rest_positional", symbolic: "rest_symbolic", label: "rest_label" },
  };
  const LABELS = {
    positional: "follows where",
    symbolic: "follows what",
    uniform: "pays all its keys the same",
    mixed: "follows both, in part",
    undefined: "too few keys to tell",
  };
  const NAMES = Object.keys(LABELS);

  const [model] = data.kind === "study" ? whatwhere.modelsWith(STUDY, "heads") : [];
  const rows = model === undefined ? [] : results(model, STUDY, "heads");
  const [about] = model === undefined ? [] : results(model, STUDY, "about") ?? [];
  const byPlace = new Map(rows.map((row) => [`${row.layer}.${row.head}`, row]));
  const grouped = (table) => d3.group((model === undefined ? null : results(model, STUDY, table)) ?? [], (row) => `${row.layer}.${row.head}`);
  const spectra = grouped("spectrum");
  const looks = grouped("attention");

  /* To begin with, the most positional head: the most symbolic ones only look at the first token, often. */
  const lean = (row) => (row.positional ?? 0) - (row.symbolic ?? 1);
  const choice = { row: d3.greatest(rows, lean), kind: "paper" };
  const listeners = [];
  const onChange = (listener) => listeners.push(listener);
  function change(to) {
    Object.assign(choice, to);
    for (const listener of listeners) listener();
  }
  const at = (layer, head) => byPlace.get(`${layer}.${head}`);
  const open = (layer, head) => at(layer, head) && change({ row: at(layer, head) });
  const name = () => `${choice.row.layer}.${choice.row.head}`;
  /** Both scores and the label of a head, of the kind that is shown. */
  const scores = (row, kind = choice.kind) => ({ positional: row[KINDS[kind].positional], symbolic: row[KINDS[kind].symbolic], label: row[KINDS[kind].label] });

  // The map

  function counts() {
    const found = d3.rollup(rows, (some) => some.length, (row) => scores(row).label);
    const named = NAMES.filter((label) => found.has(label));
    return [`${rows.length} heads: `, ...named.flatMap((label, i) => [i ? ", " : "", el("span", { class: label }, `${found.get(label)} ${label}`)]), "."];
  }

  function map() {
    const size = (what) => 1 + d3.max(rows, (row) => row[what]);
    const made = drawing.headMap({
      layers: size("layer"), heads: size("head"), label: "Heads by layer and head", chosen: [choice.row.layer, choice.row.head],
      value: (layer, head) => (at(layer, head) ? scores(at(layer, head)) : { positional: null, symbolic: null }),
      onSelect: open,
      describe: (layer, head) => (at(layer, head) ? "" : ", not scored"),
    });
    const total = el("p", { class: "counts" });
    const list = whatwhere.controls.select({
      label: "Scores", options: Object.entries(KINDS).map(([kind, one]) => [kind, one.name]), value: choice.kind,
      onChange: (kind) => change({ kind }),
    });
    let kind = null;
    const show = () => {
      if (kind !== choice.kind) {
        kind = choice.kind;
        total.replaceChildren(...counts());
        made.update();
      }
      made.select(choice.row.layer, choice.row.head);
    };
    onChange(show);
    show();
    return [
      el("div", { class: "controls" }, list.element), total, drawing.headLegend(), el("div", { class: "frame" }, made.element),
      about?.is_text ? el("p", { class: "note" }, "Many heads park attention on the first token, which makes them symbolic whatever else they do. “Beyond the first token” scores swaps among the later keys only; it is not the paper’s score.") : null,
    ];
  }

  // The open head

  const fact = (title, ...value) => el("div", {}, el("dt", {}, title), el("dd", {}, value));
  const interval = (row, what) => [number(row[what]), el("span", { class: "interval" }, ` (${number(row[`${what}_low`])} to ${number(row[`${what}_high`])})`)];

  function facts(row) {
    const turning = row.dominant_id
      ? [fact("Mean frequency ID", number(row.weighted_id, 1)), fact("Strongest frequency", `ID ${row.dominant_id}, a turn in ${significant((2 * Math.PI) / row.dominant_frequency)} tokens`)]
      : [fact("Frequencies", row.planes ? "undefined here" : "none: this layer does not rotate")];
    return [
      fact("Label", el("span", { class: row.label }, row.label), `: ${LABELS[row.label] ?? ""}${row.own > 0.5 ? "; attends mostly to itself" : ""}`),
      fact("Positional", interval(row, "positional")),
      fact("Symbolic", interval(row, "symbolic")),
      fact("Beyond the first token", `${number(row.rest_positional)} positional, ${number(row.rest_symbolic)} symbolic: ${row.rest_label}`),
      fact("Entropy", `${number(row.entropy)} nats, ${number(100 * row.entropy_share, 0)} % of its maximum`),
      fact("Attention to", `first token ${number(row.first)}, previous ${number(row.previous)}, itself ${number(row.own)}`),
      row.induction === null ? null : fact("Induction", `${number(row.induction)} on repeated random tokens`),
      ...turning,
    ];
  }

  function spectrum() {
    const shown = () => spectra.get(name()) ?? [];
    const made = chart({
      name: "head-spectrum", title: "Frequencies that it uses", alt: "Share of each rotary plane in what tells keys apart, from fast to slow", rows: shown,
      draw: (width) => {
        if (!shown().length) return el("p", { class: "note" }, "No rotation here.");
        const id = choice.row.weighted_id;
        return plot({
          width, height: 200, marginBottom: 36, marginRight: 14,
          x: { label: "frequency ID, fast to slow", domain: [0.4, shown().length + 0.6], ticks: 8 },
          y: { label: null, grid: true, ticks: 4, tickFormat: "%" },
          marks: [
            Plot.rectY(shown(), { x1: (row) => row.plane - 0.4, x2: (row) => row.plane + 0.4, y: "weight", fill: "var(--accent)", title: (row) => `ID ${row.plane}: ${number(100 * row.weight, 1)} %` }),
            Plot.ruleY([0]),
            id === null ? null : Plot.ruleX([id], { stroke: "var(--text)", strokeDasharray: "4 3" }),
          ],
        });
      },
      note: "Share of the variance of the logits over keys (below 0: works against the rest); dashed, the mean ID.",
    });
    onChange(made.redraw);
    return made.element;
  }

  /** A token as people read it: line ends and empty tokens are made visible. */
  function spelled(token) {
    if (token === "") return [el("span", { class: "mark-space" }, "·")];
    return token.split(/(\n)/).filter((part) => part !== "").map((part) => (part === "\n" ? [el("span", { class: "mark-space" }, "⏎"), "\n"] : part));
  }
  const quoted = (token) => (token === "" ? "(part of a character)" : token.replaceAll("\n", "⏎"));

  /** Where the open head looks in an input, from one of a few queries. Token texts only ever become text nodes. */
  function attention() {
    const inputs = d3.group(results(model, STUDY, "tokens") ?? [], (row) => row.input);
    if (!inputs.size || !looks.size) return null;
    const queriesOf = d3.rollup(results(model, STUDY, "attention"), (some) => d3.sort(new Set(some.map((row) => row.query))), (row) => row.input);
    let input = inputs.keys().next().value;
    let query = queriesOf.get(input).at(-1);
    const tokens = () => inputs.get(input).map((row) => row.text);
    const text = el("div", { class: `text${about?.is_text ? "" : " separate"}`, tabindex: 0, role: "region", "aria-label": "The input, coloured by attention" });
    const most = el("p", { class: "most" });
    let spans = [];
    const fill = () => {
      spans = tokens().map((token, position) => el("span", { "data-position": position }, spelled(token)));
      text.replaceChildren(...spans);
    };
    function show() {
      const found = new Map((looks.get(name()) ?? []).filter((row) => row.input === input && row.query === query).map((row) => [row.key, row.share]));
      spans.forEach((span, position) => {
        const share = found.get(position) ?? 0;
        span.className = [share >= 0.05 ? "seen" : "", position === query ? "query" : "", position > query ? "later" : ""].join(" ").trim();
        span.style.setProperty("background", share ? `color-mix(in oklab, var(--accent) ${Math.round(65 * Math.sqrt(share))}%, transparent)` : "none");
        span.title = `${position}: ${number(share, 3)}`;
      });
      const top = [...found].sort((a, b) => b[1] - a[1]).slice(0, MOST);
      most.replaceChildren(
        "From ", el("q", {}, quoted(tokens()[query])), ` at ${query} it looks at `,
        ...top.flatMap(([position, share], i) => [i ? ", " : "", el("q", {}, quoted(tokens()[position])), position === query ? " (itself)" : ` ${query - position} back`, ` (${number(share)})`]),
        ".",
      );
    }
    const options = () => queriesOf.get(input).map((position) => [position, `${position}: ${quoted(tokens()[position])}`]);
    const queries = whatwhere.controls.select({ label: "Query", options: options(), value: query, onChange: (value) => { query = Number(value); show(); } });
    const which = whatwhere.controls.select({
      label: "Input", options: [...inputs.keys()].map((one) => [one, String(one)]), value: input,
      onChange: (value) => { input = Number(value); query = queriesOf.get(input).at(-1); queries.fill(options(), query); fill(); show(); },
    });
    onChange(show);
    fill();
    show();
    return el(
      "div", { class: "attention" },
      el("h3", {}, "Where it looks"),
      el("div", { class: "controls" }, inputs.size > 1 ? which.element : null, queries.element),
      text,
      most,
      el("p", { class: "note" }, "The outlined token asks; the stronger the colour, the more attention it pays (underlined from 5 %). Positions count from 0."),
    );
  }

  function details() {
    const title = el("h3");
    const list = el("dl", { class: "facts" });
    const show = () => {
      title.textContent = `Layer ${choice.row.layer}, head ${choice.row.head}`;
      list.replaceChildren(...facts(choice.row).filter(Boolean));
    };
    onChange(show);
    show();
    const over = { inputs: about?.is_text ? "windows of the text" : "inputs", queries: "the queries of one window, hence too narrow" }[about?.interval];
    return [title, list, el("p", { class: "note" }, over ? `In brackets: 95 % intervals, bootstrap over ${over}.` : "One window and one query: no intervals."), spectrum(), attention()];
  }

  // The list

  const COLUMNS = [
    ["head", (row) => row.layer * 1e4 + row.head, null],
    ["positional", (row) => scores(row).positional, 2],
    ["symbolic", (row) => scores(row).symbolic, 2],
    ["entropy", (row) => row.entropy_share, 2],
    ["first token", (row) => row.first, 2],
    ["previous", (row) => row.previous, 2],
    ["itself", (row) => row.own, 2],
    ["induction", (row) => row.induction, 2],
    ["frequency ID", (row) => row.weighted_id, 0],
    ["label", (row) => scores(row).label, null],
  ];
  /** Undefined values come last in either order. */
  function compare(a, b, down) {
    if (a === null || b === null) return (a === null) - (b === null);
    return (down ? -1 : 1) * (typeof a === "string" ? a.localeCompare(b) : a - b);
  }

  function list() {
    let [sorted, down] = ["positional", true];
    const head = el("tr");
    const body = el("tbody");
    const lines = new Map();

    function draw() {
      const [, key] = COLUMNS.find(([title]) => title === sorted);
      head.replaceChildren(
        ...COLUMNS.map(([title, , digits]) => {
          const press = () => {
            [sorted, down] = title === sorted ? [title, !down] : [title, digits !== null];
            draw();
            head.querySelector("[aria-sort] button").focus();
          };
          const arrow = title === sorted ? (down ? " ↓" : " ↑") : "";
          return el("th", { scope: "col", class: digits === null ? null : "number", "aria-sort": title === sorted && (down ? "descending" : "ascending") }, el("button", { type: "button", on: { click: press } }, title + arrow));
        }),
      );
      lines.clear();
      body.replaceChildren(...[...rows].sort((a, b) => compare(key(a), key(b), down) || a.layer - b.layer || a.head - b.head).map(line));
      mark();
    }
    function line(row) {
      const button = el("button", { type: "button", "aria-label": `Open layer ${row.layer} head ${row.head}`, on: { click: () => open(row.layer, row.head) } }, `${row.layer}.${row.head}`);
      const cells = COLUMNS.slice(1).map(([, value, digits]) => el("td", { class: digits === null ? scores(row).label : "number" }, digits === null ? value(row) : number(value(row), digits)));
      const made = el("tr", {}, el("th", { scope: "row" }, button), cells);
      lines.set(row, made);
      return made;
    }
    function mark() {
      for (const [row, made] of lines) made.dataset.chosen = String(row === choice.row);
    }
    let kind = choice.kind;
    onChange(() => {
      if (kind === choice.kind) return mark();
      kind = choice.kind;
      draw();
    });
    draw();
    return [
      el("p", {}, "Press a heading to sort, again to turn the order round. ", whatwhere.table.csvButton("heads", () => rows)),
      el("div", { class: "list scroll", tabindex: 0, role: "region", "aria-label": "All heads" }, el("table", {}, el("caption", { class: "visually-hidden" }, "All heads"), el("thead", {}, head), body)),
    ];
  }

  whatwhere.headScores((one) => results(one, STUDY, "heads"));
  if (!choice.row) return;
  const many = (count, one, more = `${one}s`) => `${count} ${count === 1 ? one : more}`;
  if (about) {
    const { tau, gamma } = settings(model, STUDY);
    const begins = about.begins ? ` Each window begins with ${JSON.stringify(about.begins)}.` : " No token was put before the text.";
    whatwhere.lead(() => `${about.family} on ${about.source}: ${many(about.inputs, about.is_text ? "window" : "sequence")} of ${about.tokens} tokens, ${many(about.queries, "query", "queries")} each; tau ${tau}, pure within gamma ${gamma}.${about.is_text ? begins : ""}${about.error === null ? "" : ` Rebuilt attention agrees with the model’s own within ${about.error.toExponential(0)} of its largest value.`}`);
  }
  whatwhere.part({ id: "map", nav: "Map", title: "Every head", intro: "Two keys before a query change places. If attention stays where it was, the head is positional (●); if it moves along with what it looked at, the head is symbolic (■). Layers stand across, heads down: choose one, or move with the arrow keys.", order: 20, make: map });
  whatwhere.part({ id: "details", nav: "One head", title: "One head", order: 21, make: details });
  whatwhere.part({ id: "list", nav: "List", title: "List of heads", order: 22, make: list });
})();
