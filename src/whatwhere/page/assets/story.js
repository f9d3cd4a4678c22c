"use strict";
/* The idea in three paragraphs, the numbers beside it, and what is missing. */
(() => {
  const { el } = whatwhere.dom;
  const { data, kept } = whatwhere;
  const positional = (text) => el("span", { class: "positional" }, text);
  const symbolic = (text) => el("span", { class: "symbolic" }, text);
  const alone = data.kind === "study";

  const prose = () =>
    el(
      "div",
      { class: "prose" },
      el("p", {}, "Exchange two tokens before a query and look at its attention again. If attention stays where it was, the head is ", positional("●\u00a0positional"), ". If it moves along with the token, the head is ", symbolic("■\u00a0symbolic"), ". Both are scores from 0 to 1; a head that pays all tokens the same attention has both at 1."),
      el("p", {}, "Two tasks ask for one or the other. In the ", el("b", {}, "number"), " task an integer says how many places to hop back. In the ", el("b", {}, "letter"), " task the right letter of a pair names the left letter of an earlier pair. Both take one to four hops, and a small GPT-J (in the paper, with one head per layer) learns both."),
      el("p", {}, "Theory says how: rotary position embedding lets a fast frequency count positions, and a slow one match symbols. It also says what follows: counting leaves a margin that shrinks with the square of the length, matching one that shrinks slowly. So the letter model should keep working on long inputs, and the number model should not."),
    );

  function tiles() {
    const found = kept.tiles.flatMap((make) => make());
    return found.length ? el("div", { class: "tiles" }, found.map(([value, text]) => el("div", { class: "tile" }, el("b", {}, value), el("span", {}, text)))) : null;
  }

  function missing() {
    if (!data.missing.length) return null;
    const commands = d3.groups(data.missing, (one) => one.command);
    return el(
      "div",
      { class: "missing", role: "note", id: "missing" },
      "Not on this page, because the results are not there yet:",
      el("ul", {}, commands.map(([command, parts]) => el("li", {}, parts.map((one) => one.part).join(", "), ". Make it with ", el("code", {}, command)))),
    );
  }

  whatwhere.lead(() => (data.kind === "reproduction" ? "A reproduction of “Positional versus Symbolic Attention Heads: Learning Dynamics, RoPE Geometry, and Length Generalization”, to look at and to play with." : data.paper ? `The paper: ${data.paper}.` : null));
  whatwhere.part({
    id: "story", nav: alone ? "Missing" : "Story", title: alone ? "What is missing" : "The story in short", order: 0,
    make: () => (alone ? missing() : el("div", {}, prose(), tiles(), missing())),
  });
})();
