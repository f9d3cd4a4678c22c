/* What a block of the transformer does between its matrix products, forward and backward, for one core.

   whatwhere.model.kernels compiles this file where it is first used; whatwhere.model.fused calls it and says what the
   letters mean (x, y, z, u). Numbers are kept as float32, or as bfloat16 where `half` is set, and always summed as
   float32. All arrays are dense, rows = batch * seq, and the caller owns every one of them, `scratch` included. The
   mean of a gradient over rows is never taken: gradients of vectors are added to what is there.

   Loops are plain, so that any compiler turns them into vector instructions; `omp simd reduction` lets it reorder a sum,
   in a way that is the same in every run.
*/

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    int64_t batch, seq, heads, width, inner, planes, half, exact;
    float scale, epsilon;
} Shape;

/* ---- numbers ---- */

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
    for (int64_t i = 0; i < n; i++) {
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

static inline float dot(const float *restrict a, const float *restrict b, int64_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static inline void add_times(float *restrict to, float by, const float *restrict from, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] += by * from[i];
}

/* The products of one vector with the first `count` rows of a matrix, `stride` apart, four at a time: a sum of eight
   vectors waits for itself, four of them do not. */
static inline void dots(const float *restrict a, const float *restrict rows, int64_t stride, int64_t count, int64_t n,
                        float *restrict to) {
    int64_t j = 0;
    for (; j + 4 <= count; j += 4) {
        const float *restrict b0 = rows + j * stride, *restrict b1 = b0 + stride;
        const float *restrict b2 = b1 + stride, *restrict b3 = b2 + stride;
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (int64_t i = 0; i < n; i++) {
            s0 += a[i] * b0[i];
            s1 += a[i] * b1[i];
            s2 += a[i] * b2[i];
            s3 += a[i] * b3[i];
        }
        to[j] = s0, to[j + 1] = s1, to[j + 2] = s2, to[j + 3] = s3;
    }
    for (; j < count; j++) to[j] = dot(a, rows + j * stride, n);
}

/* Adds multiples of rows to one vector, in the order of the rows. */
static inline void add_rows(float *restrict to, const float *restrict by, const float *restrict rows, int64_t stride,
                            int64_t count, int64_t n) {
    int64_t j = 0;
    for (; j + 4 <= count; j += 4) {
        const float *restrict f0 = rows + j * stride, *restrict f1 = f0 + stride;
        const float *restrict f2 = f1 + stride, *restrict f3 = f2 + stride;
        float b0 = by[j], b1 = by[j + 1], b2 = by[j + 2], b3 = by[j + 3];
        for (int64_t i = 0; i < n; i++) {
            float sum = to[i] + b0 * f0[i];
            sum += b1 * f1[i];
            sum += b2 * f2[i];
            to[i] = sum + b3 * f3[i];
        }
    }
    for (; j < count; j++) add_times(to, by[j], rows + j * stride, n);
}

/* ---- LayerNorm ---- */

void norm_forward(const Shape *shape, const float *x, const float *weight, const float *bias, void *y, float *mean,
                  float *inverse_std, float *scratch) {
    int64_t rows = shape->batch * shape->seq, d = shape->width;
    float *restrict out = scratch;
    for (int64_t row = 0; row < rows; row++) {
        const float *restrict in = x + row * d;
        float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < d; i++) sum += in[i];
        float middle = sum / d;
#pragma omp simd reduction(+ : squares)
        for (int64_t i = 0; i < d; i++) squares += (in[i] - middle) * (in[i] - middle);
        float inverse = 1 / sqrtf(squares / d + shape->epsilon);
        for (int64_t i = 0; i < d; i++) out[i] = (in[i] - middle) * inverse * weight[i] + bias[i];
        write_row(y, row * d, d, shape->half, out);
        mean[row] = middle;
        inverse_std[row] = inverse;
    }
}

/* grad_x is the gradient through the norm plus `past`, the gradient that went around it. */
void norm_backward(const Shape *shape, const void *grad_y, const float *x, const float *mean, const float *inverse_std,
                   const float *weight, const float *past, float *grad_x, float *restrict grad_weight,
                   float *restrict grad_bias, float *scratch) {
    int64_t rows = shape->batch * shape->seq, d = shape->width;
    float *restrict g = scratch, *restrict normed = scratch + d;
    for (int64_t row = 0; row < rows; row++) {
        const float *restrict in = x + row * d, *restrict around = past + row * d;
        float *restrict out = grad_x + row * d;
        float middle = mean[row], inverse = inverse_std[row], sum = 0, along = 0;
        read_row(grad_y, row * d, d, shape->half, g);
#pragma omp simd reduction(+ : sum, along)
        for (int64_t i = 0; i < d; i++) {
            normed[i] = (in[i] - middle) * inverse;
            grad_bias[i] += g[i];
            grad_weight[i] += g[i] * normed[i];
            g[i] *= weight[i];
            sum += g[i];
            along += g[i] * normed[i];
        }
        sum /= d;
        along /= d;
        for (int64_t i = 0; i < d; i++) out[i] = around[i] + (g[i] - sum - normed[i] * along) * inverse;
    }
}

/* ---- attention and GELU: z = [q | k | v | m] to u = [attended | activated] ---- */

static inline void turn(float *restrict x, const float *restrict cosine, const float *restrict sine, int64_t planes,
                        float direction) {
    for (int64_t p = 0; p < planes; p++) {
        float first = x[p], second = x[p + planes], across = direction * sine[p];
        x[p] = first * cosine[p] - second * across;
        x[p + planes] = second * cosine[p] + first * across;
    }
}

/* Turns all heads of one position, by tables [2, seq, plane] of cosines and sines. */
static inline void turn_heads(const Shape *shape, float *row, const float *table, int64_t position, float direction) {
    const float *cosine = table + position * shape->planes, *sine = cosine + shape->seq * shape->planes;
    int64_t d_head = shape->width / shape->heads;
    for (int64_t h = 0; h < shape->heads; h++) turn(row + h * d_head, cosine, sine, shape->planes, direction);
}

/* The turned query, the turned key and the value of one position. */
static inline void read_position(const Shape *shape, const void *z, int64_t row, int64_t t, const float *query_turn,
                                 const float *key_turn, float *q, float *k, float *v) {
    int64_t d = shape->width, at = row * (3 * d + shape->inner);
    read_row(z, at, d, shape->half, q);
    read_row(z, at + d, d, shape->half, k);
    read_row(z, at + 2 * d, d, shape->half, v);
    turn_heads(shape, q, query_turn, t, 1);
    turn_heads(shape, k, key_turn, t, 1);
}

/* Scratch: 3 * seq * width + width + 2 * inner + seq. A mask of NULL drops nothing. If `keep` is set, the slope of GELU
   takes the place of m in z, for the gradient. */
void mix_forward(const Shape *shape, int64_t keep, void *z, const float *bias, const float *query_turn,
                 const float *key_turn, const float *mask, void *u, float *weights, float *scratch) {
    int64_t seq = shape->seq, d = shape->width, inner = shape->inner, d_head = d / shape->heads;
    float *q = scratch, *k = q + seq * d, *v = k + seq * d, *attended = v + seq * d, *m = attended + d;
    float *slope = m + inner, *kept = slope + inner;
    for (int64_t b = 0; b < shape->batch; b++) {
        /* Each row of z is read in one go, because memory is fast in a line and slow in leaps. */
        for (int64_t t = 0; t < seq; t++) {
            int64_t row = b * seq + t;
            read_position(shape, z, row, t, query_turn, key_turn, q + t * d, k + t * d, v + t * d);
            read_row(z, row * (3 * d + inner) + 3 * d, inner, shape->half, m);
            activate(m, bias, slope, inner, shape->exact);
            if (keep) write_row(z, row * (3 * d + inner) + 3 * d, inner, shape->half, slope);
            write_row(u, row * (d + inner) + d, inner, shape->half, m);
        }
        for (int64_t i = 0; i < seq; i++) {
            memset(attended, 0, d * sizeof(float));
            for (int64_t h = 0; h < shape->heads; h++) {
                int64_t cell = ((b * shape->heads + h) * seq + i) * seq, at = h * d_head;
                float *restrict w = weights + cell, most = -INFINITY, sum = 0;
                dots(q + i * d + at, k + at, d, i + 1, d_head, w);
                for (int64_t j = 0; j <= i; j++) {
                    w[j] *= shape->scale;
                    most = w[j] > most ? w[j] : most;
                }
#pragma omp simd reduction(+ : sum)
                for (int64_t j = 0; j <= i; j++) sum += w[j] = power_of_two(LOG2_E * (w[j] - most));
                for (int64_t j = 0; j <= i; j++) w[j] /= sum;
                for (int64_t j = 0; j <= i; j++) kept[j] = mask ? w[j] * mask[cell + j] : w[j];
                add_rows(attended + at, kept, v + at, d, i + 1, d_head);
                for (int64_t j = i + 1; j < seq; j++) w[j] = 0;
            }
            write_row(u, (b * seq + i) * (d + inner), d, shape->half, attended);
        }
    }
}

/* Scratch: 7 * seq * width + 2 * inner + seq. */
void mix_backward(const Shape *shape, const void *grad_u, const void *z, const float *query_turn, const float *key_turn,
                  const float *mask, const float *weights, void *grad_z, float *restrict grad_bias, float *scratch) {
    int64_t seq = shape->seq, d = shape->width, inner = shape->inner, d_head = d / shape->heads;
    float *q = scratch, *k = q + seq * d, *v = k + seq * d, *g = v + seq * d;
    float *grad_q = g + seq * d, *grad_k = grad_q + seq * d, *grad_v = grad_k + seq * d;
    float *restrict slope = grad_v + seq * d, *restrict grad_m = slope + inner, *restrict grad_w = grad_m + inner;
    for (int64_t b = 0; b < shape->batch; b++) {
        for (int64_t t = 0; t < seq; t++) {
            int64_t row = b * seq + t, at = row * (3 * d + inner) + 3 * d;
            read_row(grad_u, row * (d + inner), d, shape->half, g + t * d);
            read_row(grad_u, row * (d + inner) + d, inner, shape->half, grad_m);
            read_position(shape, z, row, t, query_turn, key_turn, q + t * d, k + t * d, v + t * d);
            read_row(z, at, inner, shape->half, slope);
            for (int64_t c = 0; c < inner; c++) grad_m[c] *= slope[c];
            for (int64_t c = 0; c < inner; c++) grad_bias[c] += grad_m[c];
            write_row(grad_z, at, inner, shape->half, grad_m);
        }
        memset(grad_q, 0, 3 * seq * d * sizeof(float));
        for (int64_t i = 0; i < seq; i++) {
            for (int64_t h = 0; h < shape->heads; h++) {
                int64_t cell = ((b * shape->heads + h) * seq + i) * seq, at = h * d_head;
                const float *w = weights + cell, *of_head = g + i * d + at;
                float along = 0;
                for (int64_t j = 0; j <= i; j++) {
                    float kept = mask ? mask[cell + j] : 1;
                    grad_w[j] = kept * dot(of_head, v + j * d + at, d_head);
                    along += grad_w[j] * w[j];
                    add_times(grad_v + j * d + at, w[j] * kept, of_head, d_head);
                }
                for (int64_t j = 0; j <= i; j++) {
                    float grad_score = w[j] * (grad_w[j] - along) * shape->scale;
                    add_times(grad_q + i * d + at, grad_score, k + j * d + at, d_head);
                    add_times(grad_k + j * d + at, grad_score, q + i * d + at, d_head);
                }
            }
        }
        for (int64_t t = 0; t < seq; t++) {
            int64_t at = (b * seq + t) * (3 * d + inner);
            turn_heads(shape, grad_q + t * d, query_turn, t, -1);
            turn_heads(shape, grad_k + t * d, key_turn, t, -1);
            write_row(grad_z, at, d, shape->half, grad_q + t * d);
            write_row(grad_z, at + d, d, shape->half, grad_k + t * d);
            write_row(grad_z, at + 2 * d, d, shape->half, grad_v + t * d);
        }
    }
}

/* ---- the way back to the residual stream: out = x + mask * (written + bias) ---- */

void residual_forward(const Shape *shape, const float *x, const void *written, const float *bias, const float *mask,
                      float *out, float *scratch) {
    int64_t rows = shape->batch * shape->seq, d = shape->width;
    float *restrict w = scratch;
    for (int64_t row = 0; row < rows; row++) {
        const float *restrict in = x + row * d;
        float *restrict to = out + row * d;
        read_row(written, row * d, d, shape->half, w);
        for (int64_t i = 0; i < d; i++) w[i] += bias[i];
        for (int64_t i = 0; mask && i < d; i++) w[i] *= mask[row * d + i];
        for (int64_t i = 0; i < d; i++) to[i] = in[i] + w[i];
    }
}

void residual_backward(const Shape *shape, const float *grad, const float *mask, void *grad_written,
                       float *restrict grad_bias, float *scratch) {
    int64_t rows = shape->batch * shape->seq, d = shape->width;
    float *restrict g = scratch;
    for (int64_t row = 0; row < rows; row++) {
        memcpy(g, grad + row * d, d * sizeof(float));
        for (int64_t i = 0; mask && i < d; i++) g[i] *= mask[row * d + i];
        for (int64_t i = 0; i < d; i++) grad_bias[i] += g[i];
        write_row(grad_written, row * d, d, shape->half, g);
    }
}

/* ---- dropout: whatwhere.model.dropout says what the numbers are ---- */

static inline uint32_t scramble(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

void dropout_mask(uint32_t before, uint32_t between, int64_t first, int64_t count, uint32_t threshold, float kept,
                  float *restrict mask) {
    for (int64_t i = 0; i < count; i++) {
        uint32_t word = scramble(scramble((uint32_t)(first + i) + before) ^ between);
        mask[i] = word < threshold ? 0 : kept;
    }
}
