"use strict";
/* Puts the parts in their places. */
(() => {
  const { data } = whatwhere;
  const { settings } = data;
  const many = (count, one, more = `${one}s`) => `${count} ${count === 1 ? one : more}`;
  document.getElementById("theme").append(whatwhere.themeButton());
  document.getElementById("name").textContent = data.name;
  document.getElementById("lead").textContent =
    `${settings.family} on ${settings.text}: ${many(settings.windows, "window")} of ${settings.tokens} tokens, ` +
    `${many(settings.queries, "query", "queries")} each; tau ${settings.tau}, pure within gamma ${settings.gamma}. ` +
    `Rebuilt attention agrees with the model’s own within ${settings.error.toExponential(0)} of its largest value.`;
  for (const [id, parts] of Object.entries({ map: whatwhere.map(), details: [...whatwhere.details(), whatwhere.attention()], list: whatwhere.list() })) {
    document.getElementById(id).querySelector(".content").append(...parts);
  }
  document.documentElement.dataset.ready = "true";
})();
