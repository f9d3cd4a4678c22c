/* Operations on numbers and rows of numbers, used by block.c. Everything is float32 in registers; `half` says that it is
   bfloat16 in memory. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

typedef union {
    float number;
    uint32_t bits;
} Word;

/* Reads n numbers, from the one at `at`. */
static inline void read_row(const void *from, int64_t at, int64_t n, int64_t half, float *restrict to) {
    if (!half) {
        memcpy(to, (const float *)from + at, n * sizeof(float));
        return;
    }
    const uint16_t *restrict bits = (const uint16_t *)from + at;
    for (int64_t i = 0; i < n; i++) {
        Word word = {.bits = (uint32_t)bits[i] << 16};
        to[i] = word.number;
    }
}

/* Writes n numbers, rounding to the nearest bfloat16, ties to even, where `half` is set. */
static inline void write_row(void *to, int64_t at, int64_t n, int64_t half, const float *restrict from) {
    if (!half) {
        memcpy((float *)to + at, from, n * sizeof(float));
        return;
    }
    uint16_t *restrict bits = (uint16_t *)to + at;
    int64_t i = 0;
#ifdef __AVX512BF16__
    for (; i + 16 <= n; i += 16) /* one instruction, which compilers do not find by themselves */
        _mm256_storeu_si256((__m256i *)(bits + i), (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(from + i)));
#endif
    for (; i < n; i++) {
        Word word = {.number = from[i]};
        uint32_t rounded = (word.bits + 0x7fff + (word.bits >> 16 & 1)) >> 16;
        bits[i] = (uint16_t)(from[i] != from[i] ? 0x7fc0 : rounded);
    }
}

/* 2^x to about one unit in the last place: the whole part goes into the exponent, the rest through its Taylor series. */
static inline float power_of_two(float x) {
    x = x < -126.0f ? -126.0f : x > 126.0f ? 126.0f : x;
    Word shifted = {.number = x + 12582912.0f}; /* 1.5 * 2^23: the whole part is now in the lowest bits */
    float f = x - (shifted.number - 12582912.0f);
    Word p = {.number = 1.5403530e-4f};
    p.number = p.number * f + 1.3333558e-3f;
    p.number = p.number * f + 9.6181291e-3f;
    p.number = p.number * f + 5.5504109e-2f;
    p.number = p.number * f + 2.4022651e-1f;
    p.number = p.number * f + 6.9314718e-1f;
    p.number = p.number * f + 1.0f;
    p.bits += shifted.bits << 23;
    return p.number;
}

static const float LOG2_E = 1.44269504f;

/* GELU in its tanh form is x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)). */
static const float GELU_RATE = 1.59576912f, GELU_CUBE = 0.044715f;

static inline float gelu_gate(float x) {
    return 1 / (1 + power_of_two(-GELU_RATE * LOG2_E * x * (1 + GELU_CUBE * x * x)));
}

/* The exact GELU is x * normal(x), the normal distribution: its tail is a polynomial in t times the density (Abramowitz and
   Stegun, 7.1.26; the error is below 1e-7), and the density serves the gradient too. */
static inline float normal_density(float x) { return 0.39894228f * power_of_two(-0.5f * LOG2_E * x * x); }

static inline float normal(float x, float density) {
    float t = 1 / (1 + 0.23164189f * fabsf(x)); /* 0.3275911 / sqrt(2) */
    float tail = 1.3302744f; /* the printed coefficients times sqrt(2 pi) / 2 */
    tail = tail * t - 1.8212559f;
    tail = tail * t + 1.7814779f;
    tail = tail * t - 0.35656379f;
    tail = tail * t + 0.31938153f;
    tail *= t * density;
    return x < 0 ? tail : 1 - tail;
}

/* m + bias through GELU, in place. Its slope there is kept for the gradient, because the parts of both are the same. */
static inline void activate(float *restrict m, const float *restrict bias, float *restrict slope, int64_t n,
                            int64_t exact) {
    if (exact)
        for (int64_t c = 0; c < n; c++) {
            float x = m[c] + bias[c], density = normal_density(x), below = normal(x, density);
            m[c] = x * below;
            slope[c] = below + x * density;
        }
    else
        for (int64_t c = 0; c < n; c++) {
            float x = m[c] + bias[c], gate = gelu_gate(x);
            m[c] = x * gate;
            slope[c] = gate * (1 + GELU_RATE * x * (1 - gate) * (1 + 3 * GELU_CUBE * x * x));
        }
}

/* ---- dropout: whatwhere.model.dropout says what the numbers are ---- */

/* Where the random words of one mask begin; a pointer of NULL drops nothing. */
typedef struct {
    int64_t first;
    uint32_t before, between, threshold;
    float kept;
} Dropout;

static inline uint32_t scramble(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* n factors of a mask, from the one at `at`: 0, or the factor that keeps the mean. */
static inline void draw(const Dropout *dropout, int64_t at, int64_t n, float *restrict to) {
    Dropout d = *dropout;
    uint32_t first = (uint32_t)(d.first + at) + d.before;
    for (int64_t i = 0; i < n; i++) {
        uint32_t word = scramble(scramble(first + (uint32_t)i) ^ d.between);
        to[i] = word < d.threshold ? 0 : d.kept;
    }
}

/* ---- small products ---- */

/* Rows of attention are padded to a multiple of LANES. */
enum { LANES = 16 };

/* Sixteen numbers or fewer side by side, as many as one register holds: compilers make poor code of longer vectors. */
#if defined(__AVX512F__)
enum { WIDE = 16 };
#elif defined(__AVX__)
enum { WIDE = 8 };
#else
enum { WIDE = 4 };
#endif
typedef float Register __attribute__((vector_size(WIDE * sizeof(float)), aligned(4), may_alias));

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t padded(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* to[c][t] = from[t][c], rows of `from` being `stride` apart and those of `to` padded(seq). */
static inline void transpose(const float *restrict from, int64_t seq, int64_t stride, int64_t n, float *restrict to) {
    int64_t wide = padded(seq);
    for (int64_t c = 0; c < n; c++) {
        for (int64_t t = 0; t < seq; t++) to[c * wide + t] = from[t * stride + c];
        for (int64_t t = seq; t < wide; t++) to[c * wide + t] = 0;
    }
}

/* Where the factors of sums begin; the distance from one row of sums to the next, and from one term to the next. */
typedef struct {
    const float *at;
    int64_t row, term;
} Factors;

/* How many registers across four rows of sums fit into all that there are, with some to spare. */
#ifdef __AVX512F__
enum { ACROSS = 4 };
#else
enum { ACROSS = LANES / WIDE };
#endif

static inline __attribute__((always_inline)) void register_sums(int across, Factors by, const float *rows, int64_t stride,
                                                                int64_t count, float *to, int64_t to_stride) {
    Register sum[4][ACROSS] = {0};
    for (int64_t t = 0; t < count; t++, by.at += by.term, rows += stride)
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++)
#pragma GCC unroll 4
            for (int l = 0; l < across; l++) sum[r][l] += by.at[r * by.row] * ((const Register *)rows)[l];
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++)
#pragma GCC unroll 4
        for (int l = 0; l < across; l++) ((Register *)(to + r * to_stride))[l] = sum[r][l];
}

/* Products of each row i >= begin of a [seq, n] with the columns j <= i of b [n, padded(seq)], and a few more
   columns. Four rows are computed at a time, so a and to have space for three more. */
static inline void causal_products(const float *a, int64_t stride, const float *b, int64_t begin, int64_t seq, int64_t n,
                                   float *to) {
    int64_t wide = padded(seq);
    for (int64_t i = begin; i < seq; i += 4)
        for (int64_t column = 0; column < least(i + 4, wide); column += LANES)
            register_sums(LANES / WIDE, (Factors){a + i * stride, stride, 1}, b + column, wide, n,
                          to + i * wide + column, wide);
}

/* Four rows of `to` [4, n]: each a sum of the same `count` rows, times factors of its own. */
static inline void four_sums(Factors by, const float *rows, int64_t stride, int64_t count, int64_t n, float *to,
                             int64_t to_stride) {
    int64_t c = 0;
    for (; c + ACROSS * WIDE <= n; c += ACROSS * WIDE)
        register_sums(ACROSS, by, rows + c, stride, count, to + c, to_stride);
    for (; c + WIDE <= n; c += WIDE) register_sums(1, by, rows + c, stride, count, to + c, to_stride);
    for (; c < n; c++)
        for (int64_t r = 0; r < 4; r++) {
            float sum = 0;
            for (int64_t t = 0; t < count; t++) sum += by.at[r * by.row + t * by.term] * rows[t * stride + c];
            to[r * to_stride + c] = sum;
        }
}
