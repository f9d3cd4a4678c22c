/* Positional and symbolic scores of short inputs: every swap of two keys, for every query. The formulas and their names
   are those of heads/swaps.py, which computes the same with torch. All numbers are float64. */

#include <math.h>
#include <stdint.h>
#include <string.h>

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

/* The weights of all swaps of m keys before they are divided by tau, |D_i - D_j| less the largest, with D the mass; minus
   infinity where a key does not count. */
static void exponents(const double *restrict mass, const uint8_t *restrict counted, int64_t m, double *restrict to) {
    double most = -INFINITY, least = INFINITY, above[MOST_KEYS], below[MOST_KEYS];
    int64_t n = 0;
    for (int64_t i = 0; i < m; i++) {
        if (!counted[i]) continue;
        most = mass[i] > most ? mass[i] : most;
        least = mass[i] < least ? mass[i] : least;
    }
    for (int64_t i = 0; i < m; i++) {
        above[i] = counted[i] ? mass[i] - most : -INFINITY;
        below[i] = counted[i] ? least - mass[i] : -INFINITY;
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i + 1; j < m; j++) {
            double one = above[i] + below[j], other = above[j] + below[i];
            to[n++] = one > other ? one : other;
        }
}

/* Both scores of one query under one weighting, from the exponents and the cosines of its n swaps. */
static void weighted_means(const double *restrict exponent, double tau, int64_t n, const double *restrict positional,
                           const double *restrict symbolic, double *restrict scores) {
    double weight = 0, stayed = 0, followed = 0;
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

/* The softmax of some logits, which are shifted so that the largest is 0; returns what makes them logarithms of it. */
static double softmax(double *restrict logits, int64_t n, double *restrict to) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) most = logits[i] > most ? logits[i] : most;
    for (int64_t i = 0; i < n; i++) logits[i] -= most;
    for (int64_t i = 0; i < n; i++) sum += to[i] = falling_exp(logits[i]);
    for (int64_t i = 0; i < n; i++) to[i] /= sum;
    return log(sum);
}

/* Whether inputs of this size are served. */
int64_t swaps_fit(const Swaps *shape) { return shape->keys <= MOST_KEYS && shape->width <= MOST_WIDTH; }

/* Lists the keys that a query sees, first the m of them that take part in swaps under any weighting; returns how many. */
static int64_t list_keys(const Swaps *shape, const uint8_t *visible, const uint8_t *counted, int64_t *seen, int64_t *m) {
    int64_t v = 0;
    for (int64_t swapped = 1; swapped >= 0; swapped--) {
        for (int64_t key = 0; key < shape->keys; key++) {
            int64_t counts = 0;
            for (int64_t w = 0; w < shape->weightings; w++) counts |= counted[w * shape->queries * shape->keys + key];
            if (visible[key] && counts == swapped) seen[v++] = key;
        }
        if (swapped) *m = v;
    }
    return v;
}

/* asked [row, query, width] and keys [row, key, width]: scaled queries, and keys, planes first and in halves;
   turns [query, key, 2, plane]: cosines and sines of the angles between a query and each place;
   own [query]: where each query stands; visible [query, key]: which keys it may see;
   counted [weighting, query, key]: which of them take part in swaps; renormalised [weighting]: whether weights are made
   from attention to these alone; tau [weighting];
   to [weighting, 4, row, query]: positional, symbolic, entropy of attention, attention to the query's own place. */
void swap_scores(const Swaps *shape, const double *asked, const double *keys, const double *turns, const int64_t *own,
                 const uint8_t *visible, const uint8_t *counted, const uint8_t *renormalised, const double *tau,
                 double *to) {
    int64_t queries = shape->queries, width = shape->width, all = shape->rows * queries, cells = queries * shape->keys;
    double at_place[MOST_WIDTH], matrix[MOST_KEYS * MOST_KEYS]; /* [place, content] of the keys that are swapped */
    double logits[MOST_KEYS], attention[MOST_KEYS], part[MOST_KEYS], among[MOST_KEYS];
    double before[MOST_SWAPS], after[MOST_SWAPS], exponent[MOST_SWAPS], positional[MOST_SWAPS], symbolic[MOST_SWAPS];
    for (int64_t at = 0; at < all; at++) {
        int64_t query = at % queries, seen[MOST_KEYS], m, n = 0;
        int64_t v = list_keys(shape, visible + query * shape->keys, counted + query * shape->keys, seen, &m);
        for (int64_t p = 0; p < v; p++) {
            const double *by = turns + (query * shape->keys + seen[p]) * 2 * shape->planes;
            const double *contents = keys + at / queries * shape->keys * width;
            turn_query(asked + at * width, by, shape->planes, width, at_place);
            products(at_place, contents, p < m ? seen : seen + p, p < m ? m : 1, width, p < m ? matrix + p * m : logits + p);
            if (p < m) logits[p] = matrix[p * m + p];
        }
        double norm = softmax(logits, v, attention), entropy = v ? 0 : NAN, to_own = v ? 0 : NAN;
        for (int64_t p = 0; p < v; p++) {
            entropy -= attention[p] == 0 ? 0 : attention[p] * (logits[p] - norm);
            to_own += seen[p] == own[query] ? attention[p] : 0 * attention[p]; /* NaN, if attention is */
        }
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = i + 1; j < m; j++, n++) {
                before[n] = logits[i] - logits[j];
                after[n] = matrix[i * m + j] - matrix[j * m + i];
            }
#pragma omp simd
        for (int64_t s = 0; s < n; s++) {
            double r = half_tanh(before[s]), q = half_tanh(after[s]);
            double scale = 1 / sqrt((1 + r * r) * (1 + q * q));
            positional[s] = (1 + r * q) * scale;
            symbolic[s] = (1 - r * q) * scale;
        }
        for (int64_t w = 0; w < shape->weightings; w++) {
            const uint8_t *these = counted + w * cells + query * shape->keys;
            /* Weightings that differ in tau alone share the exponents. */
            if (!w || renormalised[w] != renormalised[w - 1] || memcmp(these, these - cells, shape->keys)) {
                uint8_t counts[MOST_KEYS];
                int64_t some = 0;
                for (int64_t p = 0; p < m; p++)
                    if ((counts[p] = these[seen[p]])) part[some++] = logits[p];
                softmax(part, some, among);
                for (int64_t p = 0, i = 0; p < m; p++) part[p] = counts[p] ? among[i++] : 0;
                exponents(renormalised[w] ? part : attention, counts, m, exponent);
            }
            double scores[2], *into = to + 4 * w * all + at;
            weighted_means(exponent, tau[w], n, positional, symbolic, scores);
            into[0] = scores[0], into[all] = scores[1], into[2 * all] = entropy, into[3 * all] = to_own;
        }
    }
}
