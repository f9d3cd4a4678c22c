"use strict";
/* The chosen head: maps to choose it from, and what every study knows of it. */
(() => {
  const { el } = whatwhere.dom;
  const { kept, models, state, choose, onChoice, scoresAt } = whatwhere;

  /** A map of each model's heads at the chosen step. */
  function maps(shown) {
    return shown.map((model) => {
      let now = scoresAt(model, state.step);
      const size = (name) => 1 + d3.max([...now.values()], (row) => row[name]);
      const map = whatwhere.heads.headMap({
        layers: size("layer"),
        heads: size("head"),
        label: `Heads of the ${model} model by layer`,
        value: (layer, head) => now.get(`${layer},${head}`) ?? { positional: null, symbolic: null },
        onSelect: (layer, head) => choose({ model, layer, head }),
      });
      map.element.dataset.model = model;
      const title = el("h3", {});
      const show = () => {
        now = scoresAt(model, state.step);
        map.update();
        const { step } = now.values().next().value;
        title.textContent = `${whatwhere.titled(model)} model${step === undefined ? "" : ` at step ${step}`}`;
        if (state.model === model) map.select(state.layer, state.head);
        else map.clear();
      };
      show();
      onChoice(show);
      return el("div", {}, title, map.element);
    });
  }

  function facts() {
    const place = el("dl", { class: "facts", id: "head-facts", "aria-live": "polite" });
    const show = () => {
      const pairs = [["Head", `${state.model} model, layer ${state.layer}, head ${state.head}`], ...kept.facts.flatMap((find) => find())];
      place.replaceChildren(...pairs.map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text))));
    };
    show();
    onChoice(show);
    return place;
  }

  function head() {
    const shown = models.filter((model) => scoresAt(model, state.step).size);
    if (!shown.length || !kept.panels.length) return null;
    const column = (side) => el("div", {}, kept.panels.filter((one) => one.side === side).map((one) => one.make()));
    state.model = shown[0];
    return el("div", {}, whatwhere.heads.headLegend(), el("div", { class: "columns" }, maps(shown)), facts(), el("div", { class: "columns" }, column("left"), column("right")));
  }

  whatwhere.part({ id: "head", nav: "Heads", title: "One head", intro: "Choose a head of any model. Layers stand across; arrow keys move between heads.", order: 30, make: head });
})();
