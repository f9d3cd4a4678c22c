/* All layers of a model, forward and backward, with their matrix products. layer.c includes this file once for each
   precision of the products: float32 (HALF is 0) and bfloat16 (HALF is 1). Sums are float32 in both.

   The passes between the products are those of block.c. A few sequences at a time go through a whole layer, so that what
   one pass writes is still in the cache when the next one reads it.

   A term is what one multiply-add takes from a row: one float32, or two neighbouring bfloat16, whose products it adds.
   Weights are packed in panels of PANEL columns, a term of each column side by side. A product that sums over rows (the
   gradient of a weight) takes terms down the rows: of float32 the rows themselves, of bfloat16 a copy that joins each row
   with the next. All widths are multiples of PANEL. */

#if HALF
#define NAMED(name) name##_bfloat16
#define Number uint16_t
#define Term uint32_t
#define Terms Terms_bfloat16
#define Rows Rows_bfloat16
#define TERM 2
#define ROWS 68
#else
#define NAMED(name) name##_float32
#define Number float
#define Term float
#define Terms Terms_float32
#define Rows Rows_float32
#define TERM 1
#define ROWS 68
#endif

/* Rows of numbers, `row` apart. */
typedef struct {
    Number *at;
    int64_t row;
} Rows;

/* A factor of a product: the distance from one row to the next, and from one term of the sum to the next. */
typedef struct {
    const Term *at;
    int64_t row, term;
} Terms;

/* ---- what depends on the precision ---- */

#if HALF

static inline Register NAMED(add_product)(Register sum, Term left, const Term *right) {
#ifdef __AVX512BF16__
    return (Register)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32((int)left),
                                      (__m512bh)_mm512_loadu_si512(right));
#else /* slow: for tests on other processors */
    Word low = {.bits = left << 16}, high = {.bits = left & 0xffff0000};
    Bits both = *(const Bits *)right;
    return sum + low.number * (Register)(both << 16) + high.number * (Register)(both & 0xffff0000);
#endif
}

static inline void NAMED(write_sums)(Number *to, Register sums) {
#ifdef __AVX512BF16__
    _mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh((__m512)sums));
#else
    float numbers[WIDE];
    *(Register *)numbers = sums;
    write_row(to, 0, WIDE, HALF, numbers);
#endif
}

/* n numbers in the precision of the products; they are written to `buffer` if they must be rounded. */
static inline const Number *NAMED(rounded)(const float *from, int64_t n, float *buffer) {
    write_row(buffer, 0, n, HALF, from);
    return (const Number *)buffer;
}

/* One row or two as terms: a second row that is missing counts as zeros. */
static inline void NAMED(join_rows)(const Number *restrict one, const Number *restrict other, int64_t n,
                                    Term *restrict to) {
    if (other)
        for (int64_t i = 0; i < n; i++) to[i] = one[i] | (uint32_t)other[i] << 16;
    else
        for (int64_t i = 0; i < n; i++) to[i] = one[i];
}

/* `n` columns of rows as terms down the rows; joined rows are written to `buffer`. */
static Terms NAMED(down_rows)(Rows from, int64_t rows, int64_t n, Term *buffer) {
    for (int64_t row = 0; row < rows; row += 2) {
        const Number *one = from.at + row * from.row;
        NAMED(join_rows)(one, row + 1 < rows ? one + from.row : NULL, n, buffer + row / 2 * n);
    }
    return (Terms){buffer, 1, n};
}

#else

static inline Register NAMED(add_product)(Register sum, Term left, const Term *right) {
    return sum + left * *(const Register *)right;
}

static inline void NAMED(write_sums)(Number *to, Register sums) { *(Register *)to = sums; }

static inline const Number *NAMED(rounded)(const float *from, int64_t n, float *buffer) {
    (void)n, (void)buffer;
    return from;
}

static inline void NAMED(join_rows)(const Number *restrict one, const Number *restrict other, int64_t n,
                                    Term *restrict to) {
    (void)other;
    memcpy(to, one, n * sizeof(Term));
}

static Terms NAMED(down_rows)(Rows from, int64_t rows, int64_t n, Term *buffer) {
    (void)rows, (void)n, (void)buffer;
    return (Terms){from.at, 1, from.row};
}

#endif

/* ---- products ---- */

/* c = a b or c += a b for `rows` rows of a and PANEL columns of b. Sums stay in registers. c is written in the precision of
   the products, or added to as float32. */
static inline __attribute__((always_inline)) void NAMED(tile)(int rows, Terms a, Terms b, int64_t terms, void *c,
                                                              int64_t c_row, int add) {
    Register sum[TILE][ACROSS_PANEL];
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < ACROSS_PANEL; j++)
            sum[i][j] = add ? *(Register *)((float *)c + i * c_row + WIDE * j) : (Register){0};
    for (int64_t k = 0; k < terms; k++, a.at += a.term, b.at += b.term)
#pragma GCC unroll 6
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (int j = 0; j < ACROSS_PANEL; j++)
                sum[i][j] = NAMED(add_product)(sum[i][j], a.at[i * a.row], b.at + WIDE * j);
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < ACROSS_PANEL; j++)
            if (add)
                *(Register *)((float *)c + i * c_row + WIDE * j) = sum[i][j];
            else
                NAMED(write_sums)((Number *)c + i * c_row + WIDE * j, sum[i][j]);
}

/* The product of some rows with PANEL columns; `rows` is a constant in each call of tile, so each gets code of its own. */
static inline __attribute__((always_inline)) void NAMED(strip)(int64_t rows, Terms a, Terms b, int64_t terms, char *c,
                                                               int64_t c_row, int add) {
    int64_t down = TILE * c_row * (add ? sizeof(float) : sizeof(Number));
    for (; rows >= TILE; rows -= TILE, a.at += TILE * a.row, c += down) NAMED(tile)(TILE, a, b, terms, c, c_row, add);
    switch (rows) {
    case 5: NAMED(tile)(5, a, b, terms, c, c_row, add); break;
    case 4: NAMED(tile)(4, a, b, terms, c, c_row, add); break;
    case 3: NAMED(tile)(3, a, b, terms, c, c_row, add); break;
    case 2: NAMED(tile)(2, a, b, terms, c, c_row, add); break;
    case 1: NAMED(tile)(1, a, b, terms, c, c_row, add); break;
    }
}

/* c [rows, columns] = a [rows, depth] times packed weights, whose panels are `panel` terms apart. */
static void NAMED(times_weights)(Rows a, const Term *packed, int64_t panel, int64_t rows, int64_t depth, int64_t columns,
                                 Rows c) {
    Terms left = {(const Term *)a.at, a.row / TERM, 1}, right = {packed, 0, PANEL};
    for (int64_t j = 0; j < columns; j += PANEL, right.at += panel)
        NAMED(strip)(rows, left, right, depth / TERM, (char *)(c.at + j), c.row, 0);
}

/* c [columns, b_columns] += a^T b for some columns of a, summed over `rows` rows. Each panel of b is copied to `buffer`: in
   place, its rows are so far apart that they displace each other in the cache. */
static void NAMED(add_outer)(Terms a, int64_t columns, Terms b, int64_t b_columns, int64_t rows, float *c, Term *buffer) {
    int64_t terms = (rows + TERM - 1) / TERM;
    for (int64_t j = 0; j < b_columns; j += PANEL) {
        for (int64_t k = 0; k < terms; k++) memcpy(buffer + k * PANEL, b.at + k * b.term + j, PANEL * sizeof(Term));
        NAMED(strip)(columns, a, (Terms){buffer, 0, PANEL}, terms, (char *)(c + j), b_columns, 1);
    }
}

/* Packs a matrix of weights [rows, columns] for products with itself (`along`: sums over its rows) and with its transpose
   (`across`: sums over its columns). `scratch` has space for LANES rows of it. */
static void NAMED(pack_weights)(const float *weights, int64_t rows, int64_t columns, Term *along, Term *across,
                                float *scratch) {
    for (int64_t row = 0; row < rows; row += LANES) {
        const Number *some = NAMED(rounded)(weights + row * columns, LANES * columns, scratch);
        for (int64_t panel = 0; panel < columns; panel += PANEL)
            for (int64_t r = 0; r < LANES; r += TERM) {
                const Number *one = some + r * columns + panel;
                NAMED(join_rows)(one, one + columns, PANEL, along + (panel * rows + (row + r) * PANEL) / TERM);
            }
        const Term *restrict terms = (const Term *)some;
        Term *restrict to = across + row / PANEL * PANEL * columns / TERM + row % PANEL;
        for (int64_t i = 0; i < columns / TERM; i++)
            for (int64_t r = 0; r < LANES; r++) to[i * PANEL + r] = terms[r * columns / TERM + i];
    }
}

/* ---- a layer ---- */

/* How many sequences go through a layer together: about as many rows as the cache can hold. */
static int64_t NAMED(together)(const Shape *shape) {
    int64_t rows = shape->kept == shape->seq ? ROWS : 4 * ROWS;
    return rows / shape->seq < 2 ? 2 : rows / shape->seq;
}

/* The last row of each sequence. */
static Rows NAMED(ends)(const Shape *shape, Number *at, int64_t columns) {
    return (Rows){at + (shape->seq - 1) * columns, shape->seq * columns};
}

/* z = y W_in^T; of positions that are not kept, the keys and values only. */
static void NAMED(into_z)(const Shape *part, const Term *into, Number *y, Number *z) {
    int64_t d = part->width, wide = 3 * d + part->inner, rows = part->batch * part->seq, panel = d / TERM * PANEL;
    Rows from = {y, d}, to = {z, wide}, keys_and_values = {z + d, wide};
    if (part->kept == part->seq) {
        NAMED(times_weights)(from, into, panel, rows, d, wide, to);
    } else {
        NAMED(times_weights)(from, into + d / PANEL * panel, panel, rows, d, 2 * d, keys_and_values);
        NAMED(times_weights)(NAMED(ends)(part, y, d), into, panel, part->batch, d, wide, NAMED(ends)(part, z, wide));
    }
}

/* grad_y = grad_z W_in and grad_w_in += grad_z^T y; of positions that are not kept, grad_z has keys and values only. */
static void NAMED(out_of_z)(const Shape *part, const Term *into, Number *grad_z, Number *y, Number *grad_y,
                            float *grad_w_in, Term *buffer) {
    int64_t d = part->width, wide = 3 * d + part->inner, rows = part->batch * part->seq, panel = wide / TERM * PANEL;
    Rows of_y = {y, d}, of_z = {grad_z, wide}, keys_and_values = {grad_z + d, wide}, to = {grad_y, d};
    Term *of_panel = buffer, *of_y_terms = of_panel + rows * PANEL, *of_z_terms = of_y_terms + (rows + 1) * d / TERM;
    Terms y_terms = NAMED(down_rows)(of_y, rows, d, of_y_terms);
    if (part->kept == part->seq) {
        NAMED(times_weights)(of_z, into, panel, rows, wide, d, to);
        Terms z_terms = NAMED(down_rows)(of_z, rows, wide, of_z_terms);
        NAMED(add_outer)(z_terms, wide, y_terms, d, rows, grad_w_in, of_panel);
        return;
    }
    Rows z_ends = NAMED(ends)(part, grad_z, wide), y_ends = NAMED(ends)(part, y, d);
    NAMED(times_weights)(keys_and_values, into + d / TERM * PANEL, panel, rows, 2 * d, d, to);
    NAMED(times_weights)(z_ends, into, panel, part->batch, wide, d, NAMED(ends)(part, grad_y, d));
    Terms z_terms = NAMED(down_rows)(keys_and_values, rows, 2 * d, of_z_terms);
    NAMED(add_outer)(z_terms, 2 * d, y_terms, d, rows, grad_w_in + d * d, of_panel);
    y_terms = NAMED(down_rows)(y_ends, part->batch, d, of_y_terms);
    z_terms = NAMED(down_rows)(z_ends, part->batch, wide, of_z_terms);
    NAMED(add_outer)(z_terms, d, y_terms, d, part->batch, grad_w_in, of_panel);
    z_terms.at += 3 * d;
    NAMED(add_outer)(z_terms, part->inner, y_terms, d, part->batch, grad_w_in + 3 * d * d, of_panel);
}

/* Without `keep` nothing is left for a gradient: y, z and u are overwritten by each group of sequences. */
static void NAMED(layer_forward)(const Shape *shape, const Layer *layer, int64_t keep, const float *x, float *scratch) {
    int64_t seq = shape->seq, kept = shape->kept, d = shape->width, wide_u = d + shape->inner, wide_z = wide_u + 2 * d;
    int64_t most = NAMED(together)(shape);
    Number *written = (Number *)(scratch + scratch_size(shape));
    NAMED(pack_weights)(layer->w_in, wide_z, d, layer->into_t, layer->into, scratch);
    NAMED(pack_weights)(layer->w_out, d, wide_u, layer->back_t, layer->back, scratch);
    for (int64_t first = 0; first < shape->batch; first += most) {
        Shape part = *shape;
        Dropout places[2];
        part.batch = least(most, shape->batch - first);
        int64_t row = first * seq, out_row = first * kept, rows_out = part.batch * kept;
        int64_t row_kept = keep ? row : 0, on_kept = keep ? out_row : 0;
        Number *y = (Number *)layer->y + row_kept * d, *z = (Number *)layer->z + row_kept * wide_z;
        Number *u = (Number *)layer->u + on_kept * wide_u;
        norm_forward(&part, x + row * d, layer->norm_weight, layer->norm_bias, y, layer->mean + row_kept,
                     layer->inverse_std + row_kept, scratch);
        NAMED(into_z)(&part, layer->into, y, z);
        mix_forward(&part, keep, z, layer->b_mlp, layer->query_turn, layer->key_turn,
                    from_place(layer->attention, out_row * shape->heads * seq, places), u,
                    layer->weights + on_kept * shape->heads * padded(seq), scratch);
        NAMED(times_weights)((Rows){u, wide_u}, layer->back, wide_u / TERM * PANEL, rows_out, wide_u, d, (Rows){written, d});
        residual_forward(&part, x + row * d, written, layer->b_out, from_place(layer->output, out_row * d, places + 1),
                         layer->out + out_row * d, scratch);
    }
}

static void NAMED(layer_backward)(const Shape *shape, const Layer *layer, const float *x, const float *grad,
                                  float *grad_x, float *scratch) {
    int64_t seq = shape->seq, kept = shape->kept, d = shape->width, wide_u = d + shape->inner, wide_z = wide_u + 2 * d;
    int64_t most = NAMED(together)(shape);
    Number *grad_y = (Number *)(scratch + scratch_size(shape)), *grad_u = grad_y + most * seq * d;
    Number *grad_z = grad_u + most * seq * wide_u, *grad_written = grad_y; /* no longer needed when grad_y is written */
    Term *buffer = (Term *)(grad_z + most * seq * wide_z);
    for (int64_t first = 0; first < shape->batch; first += most) {
        Shape part = *shape;
        Dropout places[2];
        part.batch = least(most, shape->batch - first);
        int64_t row = first * seq, out_row = first * kept, rows_out = part.batch * kept;
        Number *z = (Number *)layer->z + row * wide_z;
        Rows written = {grad_written, d}, u = {(Number *)layer->u + out_row * wide_u, wide_u};
        residual_backward(&part, grad + out_row * d, from_place(layer->output, out_row * d, places), grad_written,
                          layer->grad_b_out, scratch);
        NAMED(times_weights)(written, layer->back_t, d / TERM * PANEL, rows_out, d, wide_u, (Rows){grad_u, wide_u});
        Term *of_written = buffer + rows_out * PANEL, *of_u = of_written + (rows_out + 1) * d / TERM;
        Terms written_terms = NAMED(down_rows)(written, rows_out, d, of_written);
        Terms u_terms = NAMED(down_rows)(u, rows_out, wide_u, of_u);
        NAMED(add_outer)(written_terms, d, u_terms, wide_u, rows_out, layer->grad_w_out, buffer);
        mix_backward(&part, grad_u, z, layer->query_turn, layer->key_turn,
                     from_place(layer->attention, out_row * shape->heads * seq, places + 1),
                     layer->weights + out_row * shape->heads * padded(seq), grad_z, layer->grad_b_mlp, scratch);
        NAMED(out_of_z)(&part, layer->into_t, grad_z, (Number *)layer->y + row * d, grad_y, layer->grad_w_in, buffer);
        norm_backward(&part, grad_y, x + row * d, layer->mean + row, layer->inverse_std + row, layer->norm_weight,
                      grad + out_row * d, grad_x + row * d, layer->grad_norm_weight, layer->grad_norm_bias, scratch);
    }
}

#undef NAMED
#undef Number
#undef Term
#undef Terms
#undef Rows
#undef TERM
#undef ROWS
