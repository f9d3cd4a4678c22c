"use strict";
/* Dark or light: the system's choice until the reader makes one, which is then remembered where that is allowed. */
(() => {
  const KEY = "whatwhere-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // a browser may forbid storage for local files
    }
  };
  const store = (theme) => {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      /* then it lasts as long as the page is open */
    }
  };
  const shown = () => document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");

  /** A button that changes between dark and light. */
  function themeButton() {
    const { el } = whatwhere.dom;
    const button = el("button", { type: "button", class: "theme" });
    const label = () => {
      const other = shown() === "dark" ? "light" : "dark";
      button.textContent = other === "dark" ? "☾ Dark" : "☀ Light";
      button.setAttribute("aria-label", `Change to ${other} colours`);
    };
    button.addEventListener("click", () => {
      const theme = shown() === "dark" ? "light" : "dark";
      document.documentElement.dataset.theme = theme;
      store(theme);
      label();
    });
    system.addEventListener("change", label);
    label();
    return button;
  }

  if (["dark", "light"].includes(stored())) document.documentElement.dataset.theme = stored();
  whatwhere.themeButton = themeButton;
})();
