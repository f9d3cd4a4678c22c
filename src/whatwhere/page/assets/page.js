"use strict";
/* Puts the parts in their places; a part without results takes its section and its link along. */
(() => {
  const { el } = whatwhere.dom;
  const { data } = whatwhere;
  const has = (...tables) => whatwhere.tasks.some((task) => tables.some((table) => data.tasks[task][table]));

  const parts = {
    story: ["Story", () => null],
    claims: ["Claims", () => (data.claims ? whatwhere.claims(data.claims) : null)],
    training: ["Training", () => (has("metrics", "scores") ? whatwhere.training.training() : null)],
    head: ["Heads", () => (has("scores") ? whatwhere.head.head() : null)],
    sequence: ["Hops", whatwhere.sequence],
    swap: ["Swap", whatwhere.swap],
    discrepancy: ["Margin", whatwhere.discrepancy],
    length: ["Length", whatwhere.length],
    about: ["About", whatwhere.about.about],
  };

  document.getElementById("theme").append(whatwhere.themeButton());
  document.getElementById("provenance").textContent = whatwhere.about.provenance();
  document.getElementById("tiles").append(...[whatwhere.story.tiles()].filter(Boolean));
  document.getElementById("missing").append(...[whatwhere.story.missing()].filter(Boolean));
  for (const [id, [name, make]] of Object.entries(parts)) {
    const section = document.getElementById(id);
    const made = make();
    if (!made && id !== "story") {
      section.remove();
      continue;
    }
    if (made) section.querySelector(".content").append(made);
    document.getElementById("sections").append(el("a", { href: `#${id}` }, name));
  }
  document.documentElement.dataset.ready = "true";
})();
