/* Positional and symbolic scores of short inputs: every swap of two keys, for every query. The formulas and their names
   are those of heads/swaps.py, which computes the same with torch. All numbers are float64. */

#include <math.h>
#include <stdint.h>

#define MOST_KEYS 40
#define MOST_SWAPS (MOST_KEYS * (MOST_KEYS - 1) / 2)
#define MOST_WIDTH 512

typedef struct {
    int64_t rows, queries, keys, width, planes, weightings;
} Swaps;

typedef union {
    double number;
    uint64_t bits;
} Long;

/* e^x of a number that is not above 0, to about one unit in the last place; 0 below e^-708, NaN of NaN. */
static inline double falling_exp(double x) {
    double within = x < -708.0 ? -708.0 : x;
    Long whole = {.number = within * 1.4426950408889634 + 6755399441055744.0}; /* 1.5 * 2^52: now in the lowest bits */
    double k = whole.number - 6755399441055744.0;
    double r = (within - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
    Long p = {.number = 1.6059043836821613e-10}; /* the Taylor series up to r^13 / 13! */
    p.number = p.number * r + 2.08767569878681e-9;
    p.number = p.number * r + 2.505210838544172e-8;
    p.number = p.number * r + 2.755731922398589e-7;
    p.number = p.number * r + 2.7557319223985893e-6;
    p.number = p.number * r + 2.48015873015873e-5;
    p.number = p.number * r + 1.984126984126984e-4;
    p.number = p.number * r + 1.388888888888889e-3;
    p.number = p.number * r + 8.333333333333333e-3;
    p.number = p.number * r + 4.1666666666666664e-2;
    p.number = p.number * r + 1.6666666666666666e-1;
    p.number = p.number * r + 0.5;
    p.number = p.number * r + 1.0;
    p.number = p.number * r + 1.0;
    p.bits += whole.bits << 52;
    return x != x ? x : x < -708.0 ? 0.0 : p.number;
}

/* tanh(x / 2). */
static inline double half_tanh(double x) {
    double e = falling_exp(-fabs(x));
    return copysign((1 - e) / (1 + e), x);
}

/* The logit of each of m contents at a place: products of the query, turned to that place, with the keys. */
static void products(const double *restrict query, const double *restrict keys, const int64_t *restrict chosen, int64_t m,
                     int64_t width, double *restrict to) {
    int64_t a = 0;
    for (; a + 4 <= m; a += 4) {
        const double *restrict k0 = keys + chosen[a] * width, *restrict k1 = keys + chosen[a + 1] * width;
        const double *restrict k2 = keys + chosen[a + 2] * width, *restrict k3 = keys + chosen[a + 3] * width;
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (int64_t c = 0; c < width; c++) {
            s0 += query[c] * k0[c];
            s1 += query[c] * k1[c];
            s2 += query[c] * k2[c];
            s3 += query[c] * k3[c];
        }
        to[a] = s0, to[a + 1] = s1, to[a + 2] = s2, to[a + 3] = s3;
    }
    for (; a < m; a++) {
        const double *restrict key = keys + chosen[a] * width;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < width; c++)
            sum += query[c] * key[c];
        to[a] = sum;
    }
}

/* Turns a query by the angles of one place; coordinates past the planes stay. */
static void turn_query(const double *restrict query, const double *restrict by, int64_t planes, int64_t width, double *restrict to) {
    const double *restrict cosine = by, *restrict sine = by + planes;
#pragma omp simd
    for (int64_t c = 0; c < planes; c++) {
        to[c] = query[c] * cosine[c] - query[planes + c] * sine[c];
        to[planes + c] = query[planes + c] * cosine[c] + query[c] * sine[c];
    }
    for (int64_t c = 2 * planes; c < width; c++)
        to[c] = query[c];
}

/* Both scores of one query under one weighting, from the cosines of its swaps. */
static void weighted_means(const double *restrict above, const double *restrict below, double tau,
                           const int64_t *restrict chosen, int64_t m, const double *restrict positional,
                           const double *restrict symbolic, double *restrict scores) {
    double exponent[MOST_SWAPS], weight = 0, stayed = 0, followed = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i + 1; j < m; j++) {
            double one = above[chosen[i]] + below[chosen[j]], other = above[chosen[j]] + below[chosen[i]];
            exponent[n++] = one > other ? one : other;
        }
#pragma omp simd reduction(+ : weight, stayed, followed)
    for (int64_t s = 0; s < n; s++) {
        double w = falling_exp(exponent[s] / tau);
        weight += w;
        stayed += w * positional[s];
        followed += w * symbolic[s];
    }
    scores[0] = weight == 0 ? NAN : stayed / weight;
    scores[1] = weight == 0 ? NAN : followed / weight;
}

/* Whether inputs of this size are served. */
int64_t swaps_fit(const Swaps *shape) { return shape->keys <= MOST_KEYS && shape->width <= MOST_WIDTH; }

/* asked [row, query, width] and keys [row, key, width]: scaled queries, and keys, planes first and in halves;
   turns [query, key, 2, plane]: cosines and sines of the angles between a query and each place;
   counted [query, key]: which keys take part; logits [row, query, key];
   above, below: of each weighting, [row, query, key]; tau [weighting]; to [weighting, 2, row, query]. */
void swap_scores(const Swaps *shape, const double *asked, const double *keys, const double *turns, const uint8_t *counted,
                 const double *logits, const double *const *above, const double *const *below, const double *tau,
                 double *to) {
    int64_t queries = shape->queries, width = shape->width, all = shape->rows * queries;
    double at_place[MOST_WIDTH], matrix[MOST_KEYS * MOST_KEYS]; /* [place, content] */
    double before[MOST_SWAPS], after[MOST_SWAPS], positional[MOST_SWAPS], symbolic[MOST_SWAPS], scores[2];
    for (int64_t at = 0; at < all; at++) {
        int64_t query = at % queries, m = 0, n = 0, chosen[MOST_KEYS];
        for (int64_t key = 0; key < shape->keys; key++)
            if (counted[query * shape->keys + key])
                chosen[m++] = key;
        const double *of_row = keys + at / queries * shape->keys * width, *plain = logits + at * shape->keys;
        for (int64_t p = 0; p < m; p++) {
            const double *by = turns + (query * shape->keys + chosen[p]) * 2 * shape->planes;
            turn_query(asked + at * width, by, shape->planes, width, at_place);
            products(at_place, of_row, chosen, m, width, matrix + p * m);
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = i + 1; j < m; j++, n++) {
                before[n] = plain[chosen[i]] - plain[chosen[j]];
                after[n] = matrix[i * m + j] - matrix[j * m + i];
            }
#pragma omp simd
        for (int64_t s = 0; s < n; s++) {
            double r = half_tanh(before[s]), q = half_tanh(after[s]);
            double norm = 1 / sqrt((1 + r * r) * (1 + q * q));
            positional[s] = (1 + r * q) * norm;
            symbolic[s] = (1 - r * q) * norm;
        }
        for (int64_t w = 0; w < shape->weightings; w++) {
            int64_t here = at * shape->keys;
            weighted_means(above[w] + here, below[w] + here, tau[w], chosen, m, positional, symbolic, scores);
            to[(2 * w) * all + at] = scores[0];
            to[(2 * w + 1) * all + at] = scores[1];
        }
    }
}
