"use strict";
/* Tables to read, and the same rows as CSV to take away. */
(() => {
  const { el } = whatwhere.dom;

  const cell = (value) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    const text = String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  /** Rows (objects with the same keys) as the text of a CSV file. */
  const toCsv = (rows) => {
    const columns = rows.length ? Object.keys(rows[0]) : [];
    return [columns, ...rows.map((row) => columns.map((name) => row[name]))].map((line) => line.map(cell).join(",") + "\n").join("");
  };

  /** A button that saves what `rows()` returns when it is pressed. */
  function csvButton(name, rows) {
    return el(
      "button",
      {
        type: "button",
        class: "csv",
        "aria-label": `Save the data of ${name} as CSV`,
        on: {
          click: () => {
            const address = URL.createObjectURL(new Blob([toCsv(rows())], { type: "text/csv" }));
            el("a", { href: address, download: `${name}.csv` }).click();
            setTimeout(() => URL.revokeObjectURL(address), 1000);
          },
        },
      },
      "CSV",
    );
  }

  /** A table; `columns` are [heading, row => text or element, class]. */
  function table(columns, rows, caption) {
    return el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      el(
        "table",
        {},
        el("caption", {}, caption),
        el("thead", {}, el("tr", {}, columns.map(([heading, , kind]) => el("th", { scope: "col", class: kind }, heading)))),
        el(
          "tbody",
          {},
          rows.map((row) =>
            el("tr", {}, columns.map(([, text, kind], i) => el(i ? "td" : "th", { class: kind, scope: i ? null : "row" }, text(row)))),
          ),
        ),
      ),
    );
  }

  whatwhere.table = { toCsv, csvButton, table };
})();
