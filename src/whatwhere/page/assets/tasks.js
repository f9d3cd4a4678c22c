"use strict";
/*
 * The tasks as whatwhere.tasks has them: which token points where, the answer, and the ideal functions Index and
 * Retrieval (lenient, as functions.py: what the definition leaves undefined stays as it is). A test holds both together.
 * Positions count from 0.
 */
(() => {
  const ids = new WeakMap();
  function idsOf(task) {
    if (!ids.has(task)) ids.set(task, new Map(task.names.map((name, id) => [name, id])));
    return ids.get(task);
  }

  /** A token's parts: {points, back} in the number task, {points, left, right} in the letter task; null for no token. */
  function read(task, name) {
    const id = idsOf(task).get(name);
    if (id === undefined) return null;
    if (task.name === "number") return { points: id >= task.symbols, back: id - (task.symbols - 1) };
    const width = task.letters + task.integers;
    return { points: id % width < task.letters, left: Math.floor(id / width), right: id % width };
  }

  /** Where a pointer at a position points, and how many different tokens it could mean (0: nothing there). */
  function step(task, tokens, parts, position) {
    if (task.name === "number") {
      const there = position - parts[position].back;
      return { there, fits: there >= 0 ? 1 : 0 };
    }
    const matches = d3.range(position).filter((p) => parts[p].left === parts[position].right);
    return { there: matches[0], fits: new Set(matches.map((p) => tokens[p])).size };
  }

  /** Follows the hops from the last token: {path, answer}, or {path, error} where they end. */
  function follow(task, tokens) {
    const parts = tokens.map((token) => read(task, token));
    const unknown = parts.indexOf(null);
    if (unknown >= 0) return { path: [], error: `“${tokens[unknown]}” at position ${unknown} is no token of this task.` };
    const path = [tokens.length - 1];
    while (parts[path.at(-1)].points) {
      const { there, fits } = step(task, tokens, parts, path.at(-1));
      if (fits !== 1) {
        const what = fits ? "different tokens" : "nothing before it";
        return { path, error: `“${tokens[path.at(-1)]}” at position ${path.at(-1)} points at ${what}.` };
      }
      path.push(there);
    }
    return { path, answer: tokens[path.at(-1)] };
  }

  /** Where each token's ideal function looks: itself unless it points at something. */
  function goals(task, tokens) {
    const parts = tokens.map((token) => read(task, token));
    return parts.map((part, position) => {
      if (!part.points) return position;
      if (task.name === "number") return position - part.back >= 0 ? position - part.back : position;
      const first = parts.findIndex((other) => other.left === part.right);
      return first >= 0 && first <= position ? first : position;
    });
  }

  /** One application of Index or Retrieval: reads the old sequence, writes a new one. */
  function apply(task, tokens) {
    const there = goals(task, tokens);
    if (task.name === "letter") return there.map((from) => tokens[from]);
    return tokens.map((token, position) => (read(task, tokens[there[position]]).points ? token : tokens[there[position]]));
  }

  whatwhere.oracle = { read, follow, goals, apply };
})();
