"use strict";
/* Elements by construction: text is always a text node, so nothing in the results can become markup. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") {
        for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
      } else if (name === "style") {
        for (const [property, to] of Object.entries(value)) node.style.setProperty(property, to);
      } else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return node;
  }

  /** An HTML element: el("p", {class: "note", on: {click: f}}, "text", otherElement). */
  const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

  /** The same for SVG. */
  const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  /** A number for people; a dash where there is none. */
  const number = (value, digits = 2) =>
    typeof value === "number" && Number.isFinite(value) ? value.toFixed(digits) : "–";

  /** A number with significant digits instead of places; whole and large numbers are not shortened. */
  const significant = (value, digits = 3) => {
    if (typeof value !== "number" || !Number.isFinite(value)) return "–";
    if (Number.isInteger(value) || Math.abs(value) >= 10 ** digits) return Math.round(value).toLocaleString("en");
    return value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)));
  };

  let counter = 0;
  /** An id that no other element has. */
  const fresh = (name) => `${name}-${++counter}`;

  /** With a capital letter. */
  whatwhere.titled = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
  whatwhere.dom = { el, svg, number, significant, fresh };
})();
