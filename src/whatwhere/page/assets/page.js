"use strict";
/* Puts the parts in their places; a part without results has neither a section nor a link. */
(() => {
  const { el } = whatwhere.dom;
  const { data, kept } = whatwhere;
  const place = (id) => document.getElementById(id);

  place("theme").append(whatwhere.themeButton());
  place("heading").append(...(data.heading ? [data.heading] : ["Does an attention head look at ", el("span", { class: "positional" }, "where"), " a token stands, or at ", el("span", { class: "symbolic" }, "what"), " it is?"]));
  place("lead").textContent = kept.leads.map((make) => make()).filter(Boolean).join(" ");
  for (const { id, nav, title, intro, make } of d3.sort(kept.sections, (one) => one.order)) {
    const made = make();
    if (!made) continue;
    place("content").append(el("section", { id }, el("h2", {}, title), intro ? el("p", {}, intro) : null, el("div", { class: "content" }, made)));
    place("sections").append(el("a", { href: `#${id}` }, nav));
  }
  document.documentElement.dataset.ready = "true";
})();
