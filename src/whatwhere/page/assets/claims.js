"use strict";
/* Every claim with its verdict; all that is known of it opens below. */
(() => {
  const { el, significant } = whatwhere.dom;

  const KIND = { holds: "holds", fails: "fails" };
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
    const kind = KIND[claim.verdict] ?? "untested";
    return el(
      "details",
      { class: "claim", "data-verdict": claim.verdict },
      el(
        "summary",
        {},
        el("span", { class: `verdict ${kind}` }, claim.verdict),
        el("span", { class: "title" }, claim.title),
      ),
      details(claim),
    );
  }

  function claims(claimed) {
    const list = el("div", { class: "claims" }, claimed.map(one));
    const verdicts = d3.rollup(claimed, (group) => group.length, (claim) => claim.verdict);
    const filter = whatwhere.controls.select({
      label: "Show",
      options: [["", `all (${claimed.length})`], ...[...verdicts].map(([verdict, count]) => [verdict, `${verdict} (${count})`])],
      value: "",
      onChange: (verdict) => {
        for (const child of list.children) child.hidden = verdict !== "" && child.dataset.verdict !== verdict;
      },
    });
    const open = el("button", { type: "button", on: { click: () => [...list.children].forEach((child) => (child.open = true)) } }, "Open all");
    const rows = () => claimed.map((claim) => ({ ...claim, interval: claim.interval?.join(" "), seeds: (claim.seeds ?? []).join(" ") }));
    return el("div", {}, el("div", { class: "controls" }, filter.element, open, whatwhere.table.csvButton("claims", rows)), list);
  }

  whatwhere.claims = claims;
})();
