"use strict";
/* Discrepancies and their bounds, as whatwhere.theory.discrepancy has them, for beta = 1. A test holds both together. */
(() => {
  /** 1 - cos(t theta) as 2 sin^2(t theta / 2), which keeps its digits when it is tiny. */
  const gap = (t, theta) => 2 * Math.sin((t * theta) / 2) ** 2;

  /** T_Index, smallest over inputs, at every length from 2 to `longest`: the least gap so far. */
  function indexSmallest(longest, theta) {
    let least = Infinity;
    return d3.range(2, longest + 1).map((n) => (least = Math.min(least, gap(n - 1, theta))));
  }
  /** min{1 - cos theta, 2 pi^2 / n^2}: printed for the largest, and true for the smallest. */
  const indexBound = (n, theta) => Math.min(1 - Math.cos(theta), (2 * Math.PI ** 2) / n ** 2);

  /** T_Retrieval, smallest over inputs; below 0 a wrong token wins on some input. */
  function retrievalSmallest(n, theta, letters) {
    const omega = (2 * Math.PI) / letters;
    if (n === 2) return Math.cos(theta) - Math.cos(omega);
    return 2 * Math.sin((omega - theta) / 2) * Math.sin((omega - (2 * n - 3) * theta) / 2);
  }
  /** The corrected bound, 1 - cos(omega - (n - 1) theta), and 0 once that angle is used up. */
  function retrievalBound(n, theta, letters) {
    const farthest = n > 2 ? n - 1 : 0;
    return 1 - Math.cos(Math.max(0, (2 * Math.PI) / letters - farthest * theta));
  }
  /** Theorem 2 as printed: off by one, and rising again past n = omega / theta. */
  const retrievalPrinted = (n, theta, letters) => 1 - Math.cos((2 * Math.PI) / letters - n * theta);

  /** The last length at which T_Retrieval can be right on every input: (2n - 3) theta < omega. */
  function retrievalEnd(theta, letters) {
    return theta > 0 ? Math.max(1, Math.ceil(((2 * Math.PI) / letters / theta + 3) / 2) - 1) : Infinity;
  }

  whatwhere.forms = { indexSmallest, indexBound, retrievalSmallest, retrievalBound, retrievalPrinted, retrievalEnd };
})();
