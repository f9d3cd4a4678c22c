"use strict";
/*
 * What a swap of two keys does to one query, from the content-by-position matrix M[content][place]
 * (whatwhere.heads.scores has the same formulas).
 */
(() => {
  function softmax(logits) {
    const top = d3.max(logits);
    const parts = logits.map((logit) => Math.exp(logit - top));
    const sum = d3.sum(parts);
    return parts.map((part) => part / sum);
  }

  /** Attention with the contents of i and j exchanged; without them, as it is. */
  function attention(M, i = -1, j = -1) {
    return softmax(M.map((row, p) => (p === i ? M[j][i] : p === j ? M[i][j] : row[p])));
  }

  /** How positional and how symbolic one swap shows the head to be. */
  function ofSwap(M, i, j) {
    const before = Math.tanh((M[i][i] - M[j][j]) / 2);
    const after = Math.tanh((M[j][i] - M[i][j]) / 2);
    const norm = Math.sqrt((1 + before ** 2) * (1 + after ** 2));
    return { positional: (1 + before * after) / norm, symbolic: (1 - before * after) / norm };
  }

  /** The scores of this input: the mean over all swaps of keys before the query, weighed by the attention they move. */
  function ofInput(M, tau) {
    const D = attention(M);
    const pairs = [];
    for (let j = 1; j < M.length - 1; j++) for (let i = 0; i < j; i++) pairs.push([i, j]);
    const weights = softmax(pairs.map(([i, j]) => Math.abs(D[i] - D[j]) / tau));
    const scores = pairs.map(([i, j]) => ofSwap(M, i, j));
    const mean = (kind) => d3.sum(scores, (score, at) => weights[at] * score[kind]);
    return { positional: mean("positional"), symbolic: mean("symbolic") };
  }

  whatwhere.swaps = { attention, ofSwap, ofInput };
})();
