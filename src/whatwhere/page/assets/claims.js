"use strict";
/* Every claim by its verdict; all that is known of it opens below. */
(() => {
  const { el, significant } = whatwhere.dom;
  const { data } = whatwhere;

  const KINDS = { holds: ["holds", "Hold"], fails: ["fails", "Fail"], "not tested": ["untested", "Not tested"] };
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
      ["Measured", claim.measured_how],
      ["Asked for", claim.threshold],
      ["Found", value(claim) || "–"],
      ["Inputs", claim.inputs?.toLocaleString("en")],
      ["With each seed", seeds],
      ["Paper’s value", claim.paper_value],
      ["Why", claim.why],
      ["Name", claim.id],
    ];
    return el("dl", {}, facts.filter(([, text]) => text).map(([name, text]) => [el("dt", {}, name), el("dd", {}, String(text))]));
  }

  function one(claim) {
    const [kind] = KINDS[claim.verdict] ?? ["untested"];
    return el(
      "details",
      { class: "claim" },
      el("summary", {}, el("span", { class: `verdict ${kind}` }, claim.verdict), el("span", { class: "title" }, claim.title)),
      details(claim),
    );
  }

  /** What the verdicts rest on: recipe, data and seeds of each model. */
  const basis = () => el("p", { class: "note", id: "basis" }, "These verdicts rest on: ", whatwhere.models.map(whatwhere.provenance).join("; "), ". Another recipe, other data or other seeds may give others. With several seeds the verdict is that of more than half of them.");

  function claims() {
    if (!data.claims) return null;
    const groups = d3.groups(data.claims, (claim) => claim.verdict);
    const order = Object.keys(KINDS);
    const lists = d3.sort(groups, ([verdict]) => order.indexOf(verdict)).map(([verdict, some]) =>
      el("div", { "data-verdict": verdict }, el("h3", {}, `${KINDS[verdict]?.[1] ?? verdict} (${some.length})`), el("div", { class: "claims" }, some.map(one))),
    );
    const filter = whatwhere.controls.select({
      label: "Show",
      options: [["", `all (${data.claims.length})`], ...groups.map(([verdict, some]) => [verdict, `${verdict} (${some.length})`])],
      value: "",
      onChange: (verdict) => {
        for (const list of lists) list.hidden = verdict !== "" && list.dataset.verdict !== verdict;
      },
    });
    const open = el("button", { type: "button", on: { click: () => lists.forEach((list) => list.querySelectorAll("details").forEach((claim) => (claim.open = true))) } }, "Open all");
    const rows = () => data.claims.map((claim) => ({ ...claim, interval: claim.interval?.join(" "), seeds: (claim.seeds ?? []).join(" ") }));
    return el("div", {}, basis(), el("div", { class: "controls" }, filter.element, open, whatwhere.table.csvButton("claims", rows)), lists);
  }

  whatwhere.tiles(() => {
    if (!data.claims) return [];
    const count = (verdict) => data.claims.filter((claim) => claim.verdict === verdict).length;
    return [[`${count("holds")} of ${data.claims.length}`, `claims hold, ${count("fails")} fail, ${count("not tested")} not tested`]];
  });
  whatwhere.part({ id: "claims", nav: "Claims", title: "The paper’s claims, checked", order: 10, make: claims });
})();
