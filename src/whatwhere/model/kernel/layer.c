/* A whole layer, forward and backward, with products in bfloat16 of its own: for processors that have an instruction for
   them, AVX512_BF16, and none for whole tiles (AMX, which torch's products use). Elsewhere own_products() is 0.

   The passes are those of block.c. A few sequences at a time go through the whole layer, so that what one pass writes is
   still in the cache when the next one reads it. Two layouts serve all six products, since the instruction adds the
   products of two neighbours to each sum:

     rows    [row, column], neighbours along a row:          y, u, z, as the passes write them
     pairs   [row / 2, column], words of two rows:           the same for gradients of weights, which sum over rows

   Weights are packed as pairs too, PANEL columns at a time. All widths are multiples of PANEL. */

#include "block.c"

enum { PANEL = 64, TILE = 6, ROWS = 68, MOST_ROWS = 272 };

#if defined(__AVX512BF16__) && !defined(__AMX_BF16__)
#define OWN_PRODUCTS

int64_t own_products(void) { return PANEL; }

/* Words of two bfloat16; the distance from one row to the next, and from one pair of neighbours to the next. */
typedef struct {
    const uint32_t *at;
    int64_t row, pair;
} Pairs;

/* c = a b or c += a b for `rows` rows of a and PANEL columns of b. Sums stay in registers, four of each row. c is written
   as bfloat16, or added to as float32. */
static inline __attribute__((always_inline)) void tile(int rows, Pairs a, Pairs b, int64_t pairs, void *c,
                                                       int64_t c_row, int add) {
    __m512 sum[TILE][4];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            sum[i][j] = add ? _mm512_loadu_ps((float *)c + i * c_row + 16 * j) : _mm512_setzero_ps();
    for (int64_t k = 0; k < pairs; k++, a.at += a.pair, b.at += b.pair) {
        __m512bh right[4];
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) right[j] = (__m512bh)_mm512_loadu_si512(b.at + 16 * j);
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++) {
            __m512bh left = (__m512bh)_mm512_set1_epi32((int)a.at[i * a.row]);
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            if (add)
                _mm512_storeu_ps((float *)c + i * c_row + 16 * j, sum[i][j]);
            else
                _mm256_storeu_si256((__m256i *)((uint16_t *)c + i * c_row + 16 * j),
                                    (__m256i)_mm512_cvtneps_pbh(sum[i][j]));
}

/* The product of some rows with PANEL columns; `rows` is a constant in each call of tile, so each gets code of its own. */
static inline __attribute__((always_inline)) void strip(int64_t rows, Pairs a, Pairs b, int64_t pairs, char *c,
                                                        int64_t c_row, int add) {
    int64_t down = TILE * c_row * (add ? 4 : 2);
    for (; rows >= TILE; rows -= TILE, a.at += TILE * a.row, c += down) tile(TILE, a, b, pairs, c, c_row, add);
    switch (rows) {
    case 5: tile(5, a, b, pairs, c, c_row, add); break;
    case 4: tile(4, a, b, pairs, c, c_row, add); break;
    case 3: tile(3, a, b, pairs, c, c_row, add); break;
    case 2: tile(2, a, b, pairs, c, c_row, add); break;
    case 1: tile(1, a, b, pairs, c, c_row, add); break;
    }
}

/* Rows of bfloat16, `row` apart. */
typedef struct {
    uint16_t *at;
    int64_t row;
} Rows;

/* c [rows, columns] = a [rows, depth] times packed weights, whose panels are `panel` words apart. */
static void times_weights(Rows a, const uint32_t *packed, int64_t panel, int64_t rows, int64_t depth, int64_t columns,
                          Rows c) {
    Pairs left = {(const uint32_t *)a.at, a.row / 2, 1}, right = {packed, 0, PANEL};
    for (int64_t j = 0; j < columns; j += PANEL, right.at += panel)
        strip(rows, left, right, depth / 2, (char *)(c.at + j), c.row, 0);
}

/* c [columns, b_columns] += a^T b for some columns of a, both being pairs of rows. */
static void add_outer(const uint32_t *a, int64_t a_columns, int64_t columns, const uint32_t *b, int64_t b_columns,
                      int64_t pairs, float *c) {
    Pairs left = {a, 1, a_columns}, right = {b, 0, b_columns};
    for (int64_t j = 0; j < b_columns; j += PANEL, right.at += PANEL)
        strip(columns, left, right, pairs, (char *)(c + j), b_columns, 1);
}

/* Rows of bfloat16 two by two; an odd one has zeros for company. */
static void pair_rows(Rows from, int64_t rows, int64_t n, uint32_t *to) {
    for (int64_t row = 0; row < rows; row += 2) {
        const uint16_t *restrict one = from.at + row * from.row, *restrict other = one + from.row;
        uint32_t *restrict out = to + row / 2 * n;
        if (row + 1 < rows)
            for (int64_t i = 0; i < n; i++) out[i] = one[i] | (uint32_t)other[i] << 16;
        else
            for (int64_t i = 0; i < n; i++) out[i] = one[i];
    }
}

/* Packs a matrix of weights [rows, columns] for products with itself (`along`: sums over its rows) and with its transpose
   (`across`: sums over its columns). `scratch` has room for LANES rows of it. */
static void pack_weights(const float *weights, int64_t rows, int64_t columns, uint32_t *along, uint32_t *across,
                  float *scratch) {
    uint16_t *some = (uint16_t *)scratch;
    for (int64_t row = 0; row < rows; row += LANES) {
        write_row(some, 0, LANES * columns, 1, weights + row * columns);
        for (int64_t panel = 0; panel < columns; panel += PANEL)
            for (int64_t r = 0; r < LANES; r += 2) {
                uint32_t *restrict to = along + panel / 2 * rows + (row + r) / 2 * PANEL;
                const uint16_t *restrict one = some + r * columns + panel, *restrict other = one + columns;
                for (int64_t i = 0; i < PANEL; i++) to[i] = one[i] | (uint32_t)other[i] << 16;
            }
        const uint32_t *restrict words = (const uint32_t *)scratch;
        uint32_t *restrict to = across + row / PANEL * PANEL * columns / 2 + row % PANEL;
        for (int64_t i = 0; i < columns / 2; i++)
            for (int64_t r = 0; r < LANES; r++) to[i * PANEL + r] = words[r * columns / 2 + i];
    }
}

/* How many sequences go through a layer together: an even number, of about as many rows as the cache can hold. */
static int64_t together(const Shape *shape) {
    int64_t rows = shape->kept == shape->seq ? ROWS : MOST_ROWS;
    return rows / shape->seq < 2 ? 2 : rows / shape->seq / 2 * 2;
}

/* Numbers of scratch that a layer takes: what the passes do, and behind it rows and pairs of y, z and u. */
int64_t layer_scratch(const Shape *shape) {
    int64_t rows = MOST_ROWS > 2 * shape->seq ? MOST_ROWS : 2 * shape->seq, d = shape->width, inner = shape->inner;
    return scratch_size(shape) + rows * (2 * d + (d + inner) + (3 * d + inner));
}

/* The places of a mask from `at` on, kept in `copy`; NULL if nothing is dropped. */
static const Dropout *from_place(const Dropout *dropout, int64_t at, Dropout *copy) {
    if (!dropout) return NULL;
    *copy = *dropout;
    copy->first += at;
    return copy;
}

/* The last row of each sequence. */
static Rows ends(const Shape *shape, uint16_t *at, int64_t columns) {
    return (Rows){at + (shape->seq - 1) * columns, shape->seq * columns};
}

/* z = y W_in^T, of positions that do not go on the keys and values only. */
static void into_z(const Shape *part, const uint32_t *into, uint16_t *y, uint16_t *z) {
    int64_t d = part->width, wide = 3 * d + part->inner, rows = part->batch * part->seq, panel = d / 2 * PANEL;
    Rows from = {y, d}, to = {z, wide}, keys_and_values = {z + d, wide};
    if (part->kept == part->seq) {
        times_weights(from, into, panel, rows, d, wide, to);
    } else {
        times_weights(from, into + d / PANEL * panel, panel, rows, d, 2 * d, keys_and_values);
        times_weights(ends(part, y, d), into, panel, part->batch, d, wide, ends(part, z, wide));
    }
}

/* grad_y = grad_z W_in and grad_w_in += grad_z^T y, without what is not there of grad_z. */
static void out_of_z(const Shape *part, const uint32_t *into, uint16_t *grad_z, const uint32_t *y_pairs,
                     uint16_t *grad_y, float *grad_w_in, uint32_t *pairs) {
    int64_t d = part->width, wide = 3 * d + part->inner, rows = part->batch * part->seq, panel = wide / 2 * PANEL;
    Rows from = {grad_z, wide}, to = {grad_y, d}, keys_and_values = {grad_z + d, wide};
    if (part->kept == part->seq) {
        times_weights(from, into, panel, rows, wide, d, to);
        pair_rows(from, rows, wide, pairs);
        add_outer(pairs, wide, wide, y_pairs, d, (rows + 1) / 2, grad_w_in);
        return;
    }
    times_weights(keys_and_values, into + d / 2 * PANEL, panel, rows, 2 * d, d, to);
    times_weights(ends(part, grad_z, wide), into, panel, part->batch, wide, d, ends(part, grad_y, d));
    pair_rows(keys_and_values, rows, 2 * d, pairs);
    add_outer(pairs, 2 * d, 2 * d, y_pairs, d, (rows + 1) / 2, grad_w_in + d * d);

    int64_t count = (part->batch + 1) / 2;
    uint32_t *y_ends = pairs + count * wide;
    memset(y_ends, 0, count * d * sizeof(uint32_t));
    for (int64_t b = 0; b < part->batch; b++) {
        int64_t row = b * part->seq + part->seq - 1;
        for (int64_t i = 0; i < d; i++)
            y_ends[b / 2 * d + i] |= (y_pairs[row / 2 * d + i] >> row % 2 * 16 & 0xffff) << b % 2 * 16;
    }
    pair_rows(ends(part, grad_z, wide), part->batch, wide, pairs);
    add_outer(pairs, wide, d, y_ends, d, count, grad_w_in);
    add_outer(pairs + 3 * d, wide, wide - 3 * d, y_ends, d, count, grad_w_in + 3 * d * d);
}

/* A layer in memory: its parameters; its turns and what it drops; weights as packed for the products; what the forward pass
   leaves for the gradient (y and u as pairs); its output; the gradients of its parameters, which are added to. */
typedef struct {
    const float *norm_weight, *norm_bias, *w_in, *b_mlp, *w_out, *b_out, *query_turn, *key_turn;
    const Dropout *attention, *output;
    uint32_t *into, *into_t, *back, *back_t, *y, *u;
    uint16_t *z;
    float *mean, *inverse_std, *weights, *out;
    float *grad_norm_weight, *grad_norm_bias, *grad_w_in, *grad_b_mlp, *grad_w_out, *grad_b_out;
} Layer;

static void layer_forward(const Shape *shape, const Layer *layer, const float *x, float *scratch) {
    int64_t seq = shape->seq, kept = shape->kept, d = shape->width, wide_u = d + shape->inner, wide_z = wide_u + 2 * d;
    int64_t most = together(shape);
    uint16_t *y = (uint16_t *)(scratch + scratch_size(shape)), *u = y + most * seq * d, *written = u + most * seq * wide_u;
    pack_weights(layer->w_in, wide_z, d, layer->into_t, layer->into, scratch);
    pack_weights(layer->w_out, d, wide_u, layer->back_t, layer->back, scratch);
    for (int64_t first = 0; first < shape->batch; first += most) {
        Shape part = *shape;
        Dropout places[2];
        part.batch = shape->batch - first < most ? shape->batch - first : most;
        int64_t row = first * seq, on = first * kept, going = part.batch * kept;
        norm_forward(&part, x + row * d, layer->norm_weight, layer->norm_bias, y, layer->mean + row,
                     layer->inverse_std + row, scratch);
        pair_rows((Rows){y, d}, part.batch * seq, d, layer->y + row / 2 * d);
        into_z(&part, layer->into, y, layer->z + row * wide_z);
        mix_forward(&part, 1, layer->z + row * wide_z, layer->b_mlp, layer->query_turn, layer->key_turn,
                    from_place(layer->attention, on * shape->heads * seq, places), u,
                    layer->weights + on * shape->heads * padded(seq), scratch);
        pair_rows((Rows){u, wide_u}, going, wide_u, layer->u + on / 2 * wide_u);
        times_weights((Rows){u, wide_u}, layer->back, wide_u / 2 * PANEL, going, wide_u, d, (Rows){written, d});
        residual_forward(&part, x + row * d, written, layer->b_out, from_place(layer->output, on * d, places + 1),
                         layer->out + on * d, scratch);
    }
}

static void layer_backward(const Shape *shape, const Layer *layer, const float *x, const float *grad, float *grad_x,
                           float *scratch) {
    int64_t seq = shape->seq, kept = shape->kept, d = shape->width, wide_u = d + shape->inner, wide_z = wide_u + 2 * d;
    int64_t most = together(shape);
    uint16_t *grad_y = (uint16_t *)(scratch + scratch_size(shape)), *grad_u = grad_y + most * seq * d;
    uint16_t *grad_z = grad_u + most * seq * wide_u, *grad_written = grad_y; /* used up before grad_y comes */
    uint32_t *pairs = (uint32_t *)(grad_z + most * seq * wide_z);
    for (int64_t first = 0; first < shape->batch; first += most) {
        Shape part = *shape;
        Dropout places[2];
        part.batch = shape->batch - first < most ? shape->batch - first : most;
        int64_t row = first * seq, on = first * kept, going = part.batch * kept;
        residual_backward(&part, grad + on * d, from_place(layer->output, on * d, places), grad_written,
                          layer->grad_b_out, scratch);
        times_weights((Rows){grad_written, d}, layer->back_t, d / 2 * PANEL, going, d, wide_u, (Rows){grad_u, wide_u});
        pair_rows((Rows){grad_written, d}, going, d, pairs);
        add_outer(pairs, d, d, layer->u + on / 2 * wide_u, wide_u, (going + 1) / 2, layer->grad_w_out);
        mix_backward(&part, grad_u, layer->z + row * wide_z, layer->query_turn, layer->key_turn,
                     from_place(layer->attention, on * shape->heads * seq, places + 1),
                     layer->weights + on * shape->heads * padded(seq), grad_z, layer->grad_b_mlp, scratch);
        out_of_z(&part, layer->into_t, grad_z, layer->y + row / 2 * d, grad_y, layer->grad_w_in, pairs);
        norm_backward(&part, grad_y, x + row * d, layer->mean + row, layer->inverse_std + row, layer->norm_weight,
                      grad + on * d, grad_x + row * d, layer->grad_norm_weight, layer->grad_norm_bias, scratch);
    }
}

/* The shape of one of several layers: only the last may let go of positions. */
static Shape shape_of(const Shape *shape, int64_t layer, int64_t count) {
    Shape one = *shape;
    if (layer < count - 1) one.kept = one.seq;
    return one;
}

/* Several layers after each other; each leaves its output in its own place. */
void layers_forward(const Shape *shape, const Layer *layers, int64_t count, const float *x, float *scratch) {
    for (int64_t i = 0; i < count; i++) {
        Shape one = shape_of(shape, i, count);
        layer_forward(&one, layers + i, i ? layers[i - 1].out : x, scratch);
    }
}

/* The gradient of x from that of the last output; `between` has room for two streams. */
void layers_backward(const Shape *shape, const Layer *layers, int64_t count, const float *x, const float *grad,
                     float *between, float *grad_x, float *scratch) {
    int64_t stream = shape->batch * shape->seq * shape->width;
    for (int64_t i = count - 1; i >= 0; i--) {
        Shape one = shape_of(shape, i, count);
        float *to = i ? between + i % 2 * stream : grad_x;
        layer_backward(&one, layers + i, i ? layers[i - 1].out : x, grad, to, scratch);
        grad = to;
    }
}

#else

int64_t own_products(void) { return 0; }

#endif

#include "swaps.c"
