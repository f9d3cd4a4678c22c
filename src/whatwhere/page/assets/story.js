"use strict";
/* The numbers beside the story, where the results have them. */
(() => {
  const { el, number } = whatwhere.dom;
  const { data, results } = whatwhere;

  const tile = (value, text) => el("div", { class: "tile" }, el("b", {}, value), el("span", {}, text));

  function tiles() {
    const found = [];
    for (const task of whatwhere.tasks) {
      const hops = data.tasks[task].test?.accuracy_by_hop;
      if (hops) found.push(tile(number(d3.mean(hops), 3), `of unseen ${task} sequences right, worst hop class ${number(d3.min(hops), 3)}`));
    }
    for (const task of whatwhere.tasks) {
      const broken = results(task, "breaks")?.find((row) => row.what === "accuracy" && row.hop === 0 && row.threshold === 0.5);
      if (!broken) continue;
      const value = broken.length === null ? `> ${broken.longest}` : `${Math.round(broken.length)}`;
      found.push(tile(value, broken.length === null ? `tokens, and the ${task} model still works` : `tokens, and the ${task} model is below one half`));
    }
    if (data.claims) {
      const count = (verdict) => data.claims.filter((claim) => claim.verdict === verdict).length;
      found.push(tile(`${count("holds")} of ${data.claims.length}`, `claims hold, ${count("fails")} fail, ${count("not tested")} not tested`));
    }
    return found.length ? el("div", { class: "tiles" }, found) : null;
  }

  function missing() {
    if (!data.missing.length) return null;
    const commands = d3.groups(data.missing, (one) => one.command);
    return el(
      "div",
      { class: "missing", role: "note" },
      "Not on this page, because the results are not there yet:",
      el("ul", {}, commands.map(([command, parts]) => el("li", {}, parts.map((one) => one.part).join(", "), ". Make it with ", el("code", {}, command)))),
    );
  }

  whatwhere.story = { tiles, missing };
})();
