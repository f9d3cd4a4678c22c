"use strict";
/* Labelled native controls, so that keyboard and screen reader work as everywhere. */
(() => {
  const { el, fresh } = whatwhere.dom;

  /** A slider: `.value` reads and sets it; `format` says what a value means. */
  function slider({ label, min, max, step = 1, value, format = String, onInput }) {
    const id = fresh("slider");
    const input = el("input", { type: "range", id, min, max, step, value });
    const output = el("output", { for: id });
    const show = () => {
      output.textContent = format(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    const element = el("div", { class: "control slider" }, el("label", { for: id }, label), input, output);
    input.addEventListener("input", () => {
      show();
      onInput(Number(input.value));
    });
    show();
    return {
      element,
      input,
      get value() {
        return Number(input.value);
      },
      set value(to) {
        input.value = to;
        show();
        onInput(Number(input.value));
      },
      show,
    };
  }

  /** A drop-down list of [value, text]; values come back as text. */
  function select({ label, options, value, onChange }) {
    const id = fresh("select");
    const input = el("select", { id });
    const element = el("div", { class: "control" }, el("label", { for: id }, label), input);
    const fill = (choices, chosen) => {
      input.replaceChildren(
        ...choices.map(([key, text]) => el("option", { value: key, selected: String(key) === String(chosen) }, text)),
      );
    };
    fill(options, value);
    input.addEventListener("change", () => onChange(input.value));
    return {
      element,
      input,
      fill,
      get value() {
        return input.value;
      },
      set value(to) {
        input.value = to;
      },
    };
  }

  /** A tick box. */
  function toggle({ label, value, onChange }) {
    const input = el("input", { type: "checkbox", checked: value });
    input.addEventListener("change", () => onChange(input.checked));
    return { element: el("label", { class: "control toggle" }, input, label), input };
  }

  /** A button that moves a slider to its end, step by step, and stops when pressed again. */
  function playButton(moved, milliseconds = 180) {
    let timer = null;
    const button = el("button", { type: "button", class: "play" });
    const label = () => {
      button.textContent = timer ? "⏸ Pause" : "▶ Play";
      button.setAttribute("aria-pressed", String(timer !== null));
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      label();
    };
    button.addEventListener("click", () => {
      if (timer) return stop();
      const { input } = moved;
      if (Number(input.value) >= Number(input.max)) moved.value = input.min;
      timer = setInterval(() => {
        moved.value = Number(input.value) + Number(input.step);
        if (Number(input.value) >= Number(input.max)) stop();
      }, milliseconds);
      label();
    });
    label();
    return button;
  }

  whatwhere.controls = { slider, select, toggle, playButton };
})();
