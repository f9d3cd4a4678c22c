"use strict";
/* Where the open head looks in the text, from one of a few query tokens. Token texts only ever become text nodes. */
(() => {
  const { el, number } = whatwhere.dom;
  const { text } = whatwhere.data;
  const { choice, onChange } = whatwhere.choice;
  const MOST = 5;

  /** A token as people read it: line ends and empty tokens are made visible. */
  function spelled(token) {
    if (token === "") return [el("span", { class: "mark-space" }, "·")];
    return token.split(/(\n)/).filter((part) => part !== "").map((part) => (part === "\n" ? [el("span", { class: "mark-space" }, "⏎"), "\n"] : part));
  }
  const quoted = (token) => (token === "" ? "(part of a character)" : token.replaceAll("\n", "⏎"));

  function attention() {
    let query = text.queries.length - 1;
    const spans = text.tokens.map((token, position) => el("span", { "data-position": position }, spelled(token)));
    const most = el("p", { class: "most" });
    const shares = () => text.heads[`${choice.row.layer}.${choice.row.head}`]?.[query] ?? [];

    function show() {
      const found = new Map(shares());
      const from = text.queries[query];
      spans.forEach((span, position) => {
        const share = found.get(position) ?? 0;
        span.className = [share >= 0.05 ? "seen" : "", position === from ? "query" : "", position > from ? "later" : ""].join(" ").trim();
        span.style.setProperty("background", share ? `color-mix(in oklab, var(--accent) ${Math.round(65 * Math.sqrt(share))}%, transparent)` : "none");
        span.title = `${position}: ${number(share, 3)}`;
      });
      const top = [...found].sort((a, b) => b[1] - a[1]).slice(0, MOST);
      most.replaceChildren(
        "From ", el("q", {}, quoted(text.tokens[from])), ` at ${from} it looks at `,
        ...top.flatMap(([position, share], i) => [i ? ", " : "", el("q", {}, quoted(text.tokens[position])), position === from ? " (itself)" : ` ${from - position} back`, ` (${number(share)})`]),
        ".",
      );
    }
    const list = whatwhere.controls.select({
      label: "Query", value: query,
      options: text.queries.map((position, i) => [i, `${position}: ${quoted(text.tokens[position])}`]),
      onChange: (value) => {
        query = Number(value);
        show();
      },
    });
    onChange(show);
    show();
    return el(
      "div", { class: "attention" },
      el("h3", {}, "Where it looks in the text"),
      el("div", { class: "controls" }, list.element),
      el("div", { class: "text", tabindex: 0, role: "region", "aria-label": "The text, coloured by attention" }, spans),
      most,
      el("p", { class: "note" }, "The outlined token asks; the stronger the colour, the more attention it pays (underlined from 5 %). Positions count from 0."),
    );
  }

  whatwhere.attention = attention;
})();
