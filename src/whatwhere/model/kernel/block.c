/* What a block of the transformer does between its matrix products, forward and backward, for one core.

   kernel/build.py compiles this file where it is first used; kernel/fused.py calls it and says what the letters mean
   (x, y, z, u). Numbers are kept as float32, or as bfloat16 where `half` is set, and always summed as
   float32. All arrays are dense, rows = batch * seq, and the caller owns every one of them, `scratch` included. The
   mean of a gradient over rows is never taken: gradients of vectors are added to what is there.

   Loops are plain, so that any compiler turns them into vector instructions; `omp simd reduction` lets it reorder a sum,
   in a way that is the same in every run.
*/

#include "numbers.h"

/* Outputs are computed for the last `kept` positions of each sequence; all positions are keys and values. */
typedef struct {
    int64_t batch, seq, kept, heads, width, inner, planes, half, exact;
    float scale, epsilon;
} Shape;

/* The row of x that belongs to a row of the output. */
static inline int64_t row_of_x(const Shape *shape, int64_t row) {
    return row / shape->kept * shape->seq + shape->seq - shape->kept + row % shape->kept;
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

/* grad_x is the gradient through the norm plus, at kept positions, `past`: the gradient through the residual connection. */
void norm_backward(const Shape *shape, const void *grad_y, const float *x, const float *mean, const float *inverse_std,
                   const float *weight, const float *past, float *grad_x, float *restrict grad_weight,
                   float *restrict grad_bias, float *scratch) {
    int64_t rows = shape->batch * shape->seq, d = shape->width;
    float *restrict g = scratch, *restrict normed = scratch + d;
    for (int64_t row = 0; row < rows; row++) {
        int64_t t = row % shape->seq - (shape->seq - shape->kept);
        const float *restrict in = x + row * d, *restrict around = past + (row / shape->seq * shape->kept + t) * d;
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
        for (int64_t i = 0; i < d; i++) out[i] = (g[i] - sum - normed[i] * along) * inverse;
        for (int64_t i = 0; t >= 0 && i < d; i++) out[i] += around[i];
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

/* The rotated query (of a kept position), the rotated key and the value of one position. */
static inline void read_position(const Shape *shape, const void *z, int64_t row, int64_t t, const float *query_turn,
                                 const float *key_turn, float *q, float *k, float *v) {
    int64_t d = shape->width, at = row * (3 * d + shape->inner);
    read_row(z, at + d, d, shape->half, k);
    read_row(z, at + 2 * d, d, shape->half, v);
    turn_heads(shape, k, key_turn, t, 1);
    if (t < shape->seq - shape->kept) return;
    read_row(z, at, d, shape->half, q);
    turn_heads(shape, q, query_turn, t, 1);
}

/* Asks for a row of z, which the forward pass left so long ago that it is no longer in the cache. */
enum { AHEAD = 2, LINE = 64 };
static inline void fetch(const Shape *shape, const void *z, int64_t row) {
    int64_t size = (3 * shape->width + shape->inner) * (shape->half ? 2 : 4);
    for (int64_t at = 0; at < size; at += LINE) __builtin_prefetch((const char *)z + row * size + at);
}

/* The scratch of mix_forward and mix_backward, in numbers. Tables of rows have four more than there are positions, for the
   products that take four at a time. */
static inline int64_t table(const Shape *shape) { return (shape->seq + 4) * shape->width; }
static inline int64_t square(const Shape *shape) { return (shape->seq + 4) * padded(shape->seq); }
static inline int64_t turned(const Shape *shape) { return shape->width * padded(shape->seq); }

int64_t scratch_size(const Shape *shape) {
    int64_t rows = padded(shape->seq) + 2 * shape->inner + 4 * shape->width;
    return 7 * table(shape) + turned(shape) + 2 * square(shape) + rows;
}

/* Row i of attention takes this many places: its keys j <= i, then zeros. Places after these are never read. */
static inline int64_t reach(int64_t i) { return padded(i + 1); }

/* The mask of row i of one sequence and head; 1 everywhere if nothing is dropped. */
static inline void draw_row(const Shape *shape, const Dropout *dropout, int64_t cell, int64_t i, float *restrict mask) {
    if (dropout)
        draw(dropout, (cell * shape->kept + i - (shape->seq - shape->kept)) * shape->seq, reach(i), mask);
    else
        for (int64_t j = 0; j < reach(i); j++) mask[j] = 1;
}

/* The softmax of row i over its keys, in place. */
static inline void causal_softmax(float *restrict w, int64_t i, float scale) {
    float most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < reach(i); j++) w[j] = j <= i ? w[j] * scale : -INFINITY;
#pragma omp simd reduction(max : most)
    for (int64_t j = 0; j < reach(i); j++) most = w[j] > most ? w[j] : most;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < reach(i); j++) {
        float power = power_of_two(LOG2_E * (w[j] - most));
        w[j] = j <= i ? power : 0;
        sum += w[j];
    }
    for (int64_t j = 0; j < reach(i); j++) w[j] /= sum;
}

/* weights is [batch, head, kept, padded(seq)], each row as far as it reaches. In z, the queries and m of positions that are
   not kept are not read. If `keep` is set, the slope of GELU takes the place of m in z, for the gradient. */
void mix_forward(const Shape *shape, int64_t keep, void *z, const float *bias, const float *query_turn,
                 const float *key_turn, const Dropout *dropout, void *u, float *weights, float *scratch) {
    int64_t seq = shape->seq, d = shape->width, inner = shape->inner, d_head = d / shape->heads, wide = padded(seq);
    int64_t kept = shape->kept, begin = seq - kept;
    float *q = scratch, *k = q + table(shape), *v = k + table(shape), *columns = v + table(shape);
    float *scores = columns + turned(shape), *restrict mask = scores + square(shape), *attended = mask + wide;
    float *m = attended + 4 * d, *slope = m + inner;
    memset(q + seq * d, 0, 4 * d * sizeof(float));
    for (int64_t b = 0; b < shape->batch; b++) {
        /* Each row of z is read once, from its beginning to its end: sequential access is the fastest. */
        for (int64_t t = 0; t < seq; t++) {
            int64_t at = (b * seq + t) * (3 * d + inner) + 3 * d, to = (b * kept + t - begin) * (d + inner) + d;
            read_position(shape, z, b * seq + t, t, query_turn, key_turn, q + t * d, k + t * d, v + t * d);
            if (t < begin) continue;
            read_row(z, at, inner, shape->half, m);
            activate(m, bias, slope, inner, shape->exact);
            if (keep) write_row(z, at, inner, shape->half, slope);
            write_row(u, to, inner, shape->half, m);
        }
        transpose(k, seq, d, d, columns);
        for (int64_t h = 0; h < shape->heads; h++) {
            int64_t cell = b * shape->heads + h, at = h * d_head;
            causal_products(q + at, d, columns + at * wide, begin, seq, d_head, scores);
            for (int64_t i = begin; i < seq; i++) {
                float *restrict score = scores + i * wide;
                causal_softmax(score, i, shape->scale);
                memcpy(weights + (cell * kept + i - begin) * wide, score, reach(i) * sizeof(float));
                draw_row(shape, dropout, cell, i, mask);
                for (int64_t j = 0; j < reach(i); j++) score[j] *= mask[j];
            }
            for (int64_t i = begin; i < seq; i += 4) {
                int64_t rows = least(4, seq - i);
                four_sums((Factors){scores + i * wide, wide, 1}, v + at, d, i + rows, d_head, attended, d_head);
                int64_t to = (b * kept + i - begin) * (d + inner) + at;
                for (int64_t r = 0; r < rows; r++, to += d + inner)
                    write_row(u, to, d_head, shape->half, attended + r * d_head);
            }
        }
    }
}

/* In grad_z, the queries and m of positions that are not kept are not written. */
void mix_backward(const Shape *shape, const void *grad_u, const void *z, const float *query_turn, const float *key_turn,
                  const Dropout *dropout, const float *weights, void *grad_z, float *restrict grad_bias,
                  float *scratch) {
    int64_t seq = shape->seq, d = shape->width, inner = shape->inner, d_head = d / shape->heads, wide = padded(seq);
    int64_t kept = shape->kept, begin = seq - kept;
    float *q = scratch, *k = q + table(shape), *v = k + table(shape), *g = v + table(shape);
    float *grad_q = g + table(shape), *grad_k = grad_q + table(shape), *grad_v = grad_k + table(shape);
    float *columns = grad_v + table(shape), *grad_w = columns + turned(shape), *restrict mask = grad_w + square(shape);
    float *passed = mask + wide, *restrict slope = passed + square(shape), *restrict grad_m = slope + inner;
    memset(g + seq * d, 0, 4 * d * sizeof(float));
    for (int64_t b = 0; b < shape->batch; b++) {
        for (int64_t t = 0; t < seq; t++) {
            int64_t at = (b * seq + t) * (3 * d + inner) + 3 * d, from = (b * kept + t - begin) * (d + inner);
            fetch(shape, z, least(b * seq + t + AHEAD, shape->batch * seq - 1));
            read_position(shape, z, b * seq + t, t, query_turn, key_turn, q + t * d, k + t * d, v + t * d);
            if (t < begin) continue;
            read_row(grad_u, from, d, shape->half, g + t * d);
            read_row(grad_u, from + d, inner, shape->half, grad_m);
            read_row(z, at, inner, shape->half, slope);
            for (int64_t c = 0; c < inner; c++) grad_m[c] *= slope[c];
            for (int64_t c = 0; c < inner; c++) grad_bias[c] += grad_m[c];
            write_row(grad_z, at, inner, shape->half, grad_m);
        }
        transpose(v, seq, d, d, columns);
        for (int64_t h = 0; h < shape->heads; h++) {
            int64_t cell = b * shape->heads + h, at = h * d_head;
            causal_products(g + at, d, columns + at * wide, begin, seq, d_head, grad_w);
            for (int64_t i = begin; i < seq; i++) {
                float *restrict to = grad_w + i * wide, *restrict with = passed + i * wide, along = 0;
                const float *restrict of = weights + (cell * kept + i - begin) * wide;
                draw_row(shape, dropout, cell, i, mask);
#pragma omp simd reduction(+ : along)
                for (int64_t j = 0; j < reach(i); j++) {
                    with[j] = of[j] * mask[j];
                    along += with[j] * to[j];
                }
                for (int64_t j = 0; j < reach(i); j++) to[j] = (with[j] * to[j] - of[j] * along) * shape->scale;
            }
            for (int64_t i = begin; i < seq; i += 4)
                four_sums((Factors){grad_w + i * wide, wide, 1}, k + at, d, least(i + 4, seq), d_head,
                          grad_q + i * d + at, d);
            for (int64_t j = 0; j < seq; j += 4) {
                int64_t first = j < begin ? begin : j, by = first * wide + j, from = first * d + at;
                four_sums((Factors){passed + by, 1, wide}, g + from, d, seq - first, d_head, grad_v + j * d + at, d);
                four_sums((Factors){grad_w + by, 1, wide}, q + from, d, seq - first, d_head, grad_k + j * d + at, d);
            }
        }
        for (int64_t t = 0; t < seq; t++) {
            int64_t at = (b * seq + t) * (3 * d + inner);
            turn_heads(shape, grad_k + t * d, key_turn, t, -1);
            write_row(grad_z, at + d, d, shape->half, grad_k + t * d);
            write_row(grad_z, at + 2 * d, d, shape->half, grad_v + t * d);
            if (t < begin) continue;
            turn_heads(shape, grad_q + t * d, query_turn, t, -1);
            write_row(grad_z, at, d, shape->half, grad_q + t * d);
        }
    }
}

/* ---- the residual connection: out = x + mask * (written + bias), at kept positions ---- */

void residual_forward(const Shape *shape, const float *x, const void *written, const float *bias, const Dropout *dropout,
                      float *out, float *scratch) {
    int64_t rows = shape->batch * shape->kept, d = shape->width;
    float *restrict w = scratch, *restrict mask = scratch + d;
    for (int64_t row = 0; row < rows; row++) {
        const float *restrict in = x + row_of_x(shape, row) * d;
        float *restrict to = out + row * d;
        read_row(written, row * d, d, shape->half, w);
        for (int64_t i = 0; i < d; i++) w[i] += bias[i];
        if (dropout) {
            draw(dropout, row * d, d, mask);
            for (int64_t i = 0; i < d; i++) w[i] *= mask[i];
        }
        for (int64_t i = 0; i < d; i++) to[i] = in[i] + w[i];
    }
}

void residual_backward(const Shape *shape, const float *grad, const Dropout *dropout, void *grad_written,
                       float *restrict grad_bias, float *scratch) {
    int64_t rows = shape->batch * shape->kept, d = shape->width;
    float *restrict g = scratch, *restrict mask = scratch + d;
    for (int64_t row = 0; row < rows; row++) {
        memcpy(g, grad + row * d, d * sizeof(float));
        if (dropout) {
            draw(dropout, row * d, d, mask);
            for (int64_t i = 0; i < d; i++) g[i] *= mask[i];
        }
        for (int64_t i = 0; i < d; i++) grad_bias[i] += g[i];
        write_row(grad_written, row * d, d, shape->half, g);
    }
}

void dropout_mask(const Dropout *dropout, int64_t count, float *mask) { draw(dropout, 0, count, mask); }
