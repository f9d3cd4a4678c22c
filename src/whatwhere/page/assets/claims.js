"use strict";
/* Every claim by its kind; all that is known of it opens below. */
(() => {
  const { el, significant } = whatwhere.dom;
  const { data } = whatwhere;

  const mark = (verdict) => `verdict ${verdict.replace(" ", "-")}`;
  const value = (claim) => {
    if (claim.value === null || claim.value === undefined) return "";
    const [low, high] = claim.interval ?? [];
    return significant(claim.value) + (claim.interval ? ` (${significant(low)} to ${significant(high)})` : "");
  };

  function details(claim) {
    const seeds = (claim.seeds ?? []).map((seed) => significant(seed)).join(", ");
    const facts = [
      ["Statement", claim.text],
      ["In the paper", claim.paper],
      ["Measured", claim.measured],
      ["Also", claim.also],
      ["Asked for", [claim.threshold, claim.reading].filter(Boolean).join(": ")],
      ["Found", value(claim) || "–"],
      ["Inputs", claim.inputs?.toLocaleString("en")],
      ["Judged on", (claim.models ?? []).map((model) => (whatwhere.models.includes(model) ? whatwhere.provenance(model) : model)).join("; ")],
      ["With each seed", (claim.seeds ?? []).length > 1 ? seeds : ""],
      ["Depends on", (claim.depends_on ?? []).join(", ")],
      ["Paper’s value", claim.paper_value],
      ["Why", claim.why],
      ["Fixed", claim.fixed],
      ["Restated", claim.restated],
      ["Name", claim.checksum ? `${claim.id} (record ${claim.checksum})` : claim.id],
    ];
    return el("dl", {}, facts.filter(([, text]) => text).map(([name, text]) => [el("dt", {}, name), el("dd", {}, String(text))]));
  }

  function one(claim) {
    return el(
      "details",
      { class: "claim", "data-verdict": claim.verdict },
      el("summary", {}, el("span", { class: mark(claim.verdict) }, claim.verdict), el("span", { class: "title" }, claim.title)),
      details(claim),
    );
  }

  /** What the verdicts rest on: recipe, data and seeds of each model. */
  const basis = () => el("p", { class: "note", id: "basis" }, "These verdicts rest on: ", whatwhere.models.map(whatwhere.provenance).join("; "), ". Another recipe, other data or other seeds may give others.");

  /** What was changed after a judgement in this directory. */
  const changes = () => (data.changes ?? []).length === 0 ? null : el("div", { class: "note", id: "changes" }, "Changed after a judgement here: ", data.changes.map((one) => one.was === one.is ? `${one.id} was ${one.verdict}; its measure or its words were changed since` : `${one.id} was ${one.verdict} at “${one.was}”, now “${one.is}”`).join("; "), ".");

  const count = (some) => d3.rollups(some, (group) => group.length, (claim) => claim.verdict).map(([verdict, number]) => `${number} ${verdict}`).join(", ");

  function claims() {
    if (!data.claims) return null;
    const order = Object.keys(data.verdicts);
    const sorted = d3.sort(data.claims, (claim) => order.indexOf(claim.verdict));
    const lists = d3.groups(sorted, (claim) => claim.kind).map(([kind, some]) =>
      el("div", { "data-kind": kind }, el("h3", {}, `${data.claim_kinds[kind] ?? kind}: ${count(some)}`), el("div", { class: "claims" }, some.map(one))),
    );
    const words = el("dl", { class: "words" }, order.filter((verdict) => sorted.some((claim) => claim.verdict === verdict)).map((verdict) => [el("dt", { class: mark(verdict) }, verdict), el("dd", {}, data.verdicts[verdict])]));
    const tested = sorted.filter((claim) => claim.verdict !== "not tested").length;
    const shown = (verdict, own) => verdict === "" || verdict === own || (verdict === "tested" && own !== "not tested");
    const show = (verdict) => {
      for (const list of lists) for (const claim of list.querySelectorAll(".claim")) claim.hidden = !shown(verdict, claim.dataset.verdict);
    };
    const filter = whatwhere.controls.select({
      label: "Show",
      options: [["tested", `tested (${tested})`], ["", `all (${data.claims.length})`], ...d3.groups(sorted, (claim) => claim.verdict).map(([verdict, some]) => [verdict, `${verdict} (${some.length})`])],
      value: "tested",
      onChange: show,
    });
    show("tested");
    const open = el("button", { type: "button", on: { click: () => lists.forEach((list) => list.querySelectorAll("details").forEach((claim) => (claim.open = true))) } }, "Open all");
    const rows = () => data.claims.map((claim) => ({ ...claim, interval: claim.interval?.join(" "), seeds: (claim.seeds ?? []).join(" ") }));
    return el("div", {}, basis(), changes(), words, el("div", { class: "controls" }, filter.element, open, whatwhere.table.csvButton("claims", rows)), lists);
  }

  whatwhere.tiles(() => d3.groups(data.claims ?? [], (claim) => claim.kind).map(([kind, some]) => {
    const tested = some.filter((claim) => claim.verdict !== "not tested");
    const held = tested.filter((claim) => claim.verdict === "holds");
    return [`${held.length} of ${tested.length}`, `tested claims hold: ${(data.claim_kinds[kind] ?? kind).toLowerCase()}`, tested.length];
  }).filter(([, , tested]) => tested));
  whatwhere.part({ id: "claims", nav: "Claims", title: "The paper’s claims, checked", order: 10, make: claims });
})();
