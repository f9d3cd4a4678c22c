/* Calls every function of layer.c, block.c and swaps.c on arrays of exactly the promised size; built with sanitizers, which end
   the program at the first access outside of them, and at the first thing that C leaves undefined. */

#include "layer.c"

#include <stdlib.h>

static void *array(int64_t numbers, int64_t half) {
    char *bytes = malloc(numbers * (half ? 2 : 4));
    memset(bytes, 0x3e, numbers * (half ? 2 : 4)); /* about 0.19, either way */
    return bytes;
}

static void all(Shape shape, int masked) {
    int64_t rows = shape.batch * shape.seq, d = shape.width, inner = shape.inner, seq = shape.seq;
    int64_t on = shape.batch * shape.kept, cells = on * shape.heads * padded(seq), turns = 2 * seq * shape.planes;
    float *x = array(rows * d, 0), *weight = array(d, 0), *bias = array(d, 0), *out = array(on * d, 0);
    float *mean = array(rows, 0), *inverse = array(rows, 0), *grad_weight = array(d, 0), *grad_bias = array(d, 0);
    float *b_mlp = array(inner, 0), *grad_b_mlp = array(inner, 0), *weights = array(cells, 0);
    float *query_turn = array(turns, 0), *key_turn = array(turns, 0);
    float *scratch = array(scratch_size(&shape), 0);
    Dropout dropout = {5, 1, 2, 1000, 1.1f}, *mask = masked ? &dropout : NULL;
    void *y = array(rows * d, shape.half), *u = array(on * (d + inner), shape.half);
    void *written = array(on * d, shape.half);
    float *grad = array(on * d, 0), *grad_x = array(rows * d, 0);
    void *z = array(rows * (3 * d + inner), shape.half), *grad_z = array(rows * (3 * d + inner), shape.half);

    norm_forward(&shape, x, weight, bias, y, mean, inverse, scratch);
    mix_forward(&shape, masked, z, b_mlp, query_turn, key_turn, mask, u, weights, scratch);
    residual_forward(&shape, x, written, bias, mask, out, scratch);
    residual_backward(&shape, grad, mask, written, grad_bias, scratch);
    mix_backward(&shape, u, z, query_turn, key_turn, mask, weights, grad_z, grad_b_mlp, scratch);
    norm_backward(&shape, y, x, mean, inverse, weight, grad, grad_x, grad_weight, grad_bias, scratch);
    dropout_mask(&dropout, on * d, out);

    void *taken[] = {
        x, weight, bias, out, mean, inverse, grad_weight, grad_bias, b_mlp, grad_b_mlp, weights, query_turn, key_turn,
        scratch, y, u, z, grad_z, written, grad, grad_x,
    };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) free(taken[i]);
}

/* The same for whole layers with products of our own, where the widths are right; without `keep` for a forward pass alone. */
static void whole_layer(Shape shape, int masked, int keep) {
    if (shape.width % PANEL || shape.inner % PANEL) return;
    int64_t rows = shape.batch * shape.seq, d = shape.width, inner = shape.inner, on = shape.batch * shape.kept;
    int64_t turns = 2 * shape.seq * shape.planes, wide = 3 * d + inner, half = shape.half;
    int64_t some = keep ? rows : sequences_together(&shape) * shape.seq, some_on = some / shape.seq * shape.kept;
    float *x = array(rows * d, 0), *weight = array(d, 0), *bias = array(d, 0), *out = array(on * d, 0);
    float *w_in = array(wide * d, 0), *w_out = array(d * (d + inner), 0), *b_mlp = array(inner, 0);
    void *into = array(wide * d, half), *into_t = array(wide * d, half);
    void *back = array((d + inner) * d, half), *back_t = array((d + inner) * d, half);
    float *query_turn = array(turns, 0), *key_turn = array(turns, 0), *scratch = array(layer_scratch(&shape), 0);
    void *y = array(some * d, half), *u = array(some_on * (d + inner), half), *z = array(some * wide, half);
    float *mean = array(some, 0), *inverse = array(some, 0), *grad_x = array(rows * d, 0);
    float *grad_weight = array(d, 0), *grad_bias = array(d, 0), *grad_b_mlp = array(inner, 0);
    float *grad_w_in = array(wide * d, 0), *grad_w_out = array(d * (d + inner), 0), *between = array(2 * rows * d, 0);
    float *weights = array(some_on * shape.heads * padded(shape.seq), 0);
    Dropout dropout = {5, 1, 2, 1000, 1.1f}, *mask = masked ? &dropout : NULL;

    Layer layer = {
        weight, bias, w_in, b_mlp, w_out, bias, query_turn, key_turn, mask, mask, into, into_t, back, back_t, y, u, z,
        mean, inverse, weights, out, grad_weight, grad_bias, grad_w_in, grad_b_mlp, grad_w_out, grad_bias,
    };
    Layer two[2] = {layer, layer};
    if (shape.kept == shape.seq) {
        layers_forward(&shape, two, 2, keep, x, scratch);
        if (keep) layers_backward(&shape, two, 2, x, out, between, grad_x, scratch);
    }
    layers_forward(&shape, &layer, 1, keep, x, scratch);
    if (keep) layers_backward(&shape, &layer, 1, x, out, between, grad_x, scratch);

    void *taken[] = {
        x, weight, bias, out, w_in, w_out, b_mlp, into, into_t, back, back_t, mean, z, query_turn, key_turn, scratch, y,
        u, weights, inverse, grad_x, grad_weight, grad_bias, grad_b_mlp, grad_w_in, grad_w_out, between,
    };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) free(taken[i]);
}

/* For as many queries as there are keys: each sees all keys and swaps all but its own, under the second weighting some. */
static void swapped(int64_t keys, int64_t width, int64_t planes) {
    Swaps shape = {3, keys, keys, width, planes, 2};
    int64_t cells = keys * keys;
    if (!swaps_fit(&shape)) abort();
    double *asked = array(2 * 3 * keys * width, 0), *from = array(2 * 3 * keys * width, 0);
    double *turns = array(2 * cells * 2 * planes, 0), *to = array(2 * 2 * 4 * 3 * keys, 0), tau[] = {1e-4, 0.1};
    int64_t *own = malloc(keys * sizeof *own);
    uint8_t *visible = malloc(cells), *counted = malloc(2 * cells), renormalised[] = {0, 1};
    for (int64_t query = 0; query < keys; query++) own[query] = query;
    for (int64_t cell = 0; cell < cells; cell++) {
        visible[cell] = 1;
        counted[cell] = cell / keys != cell % keys;
        counted[cells + cell] = counted[cell] && cell % 3;
    }
    swap_scores(&shape, asked, from, turns, own, visible, counted, renormalised, tau, to);
    void *taken[] = {asked, from, turns, own, visible, counted, to};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) free(taken[i]);
}

int main(void) {
    Shape shapes[] = {{2, 17, 17, 1, 128, 512, 64, 0, 1, 0.1f, 1e-5f}, {3, 1, 1, 2, 8, 5, 0, 0, 0, 0.1f, 1e-5f},
                      {1, 7, 1, 3, 18, 1, 2, 0, 1, 0.1f, 1e-5f},       {0, 5, 5, 1, 4, 4, 1, 0, 0, 0.1f, 1e-5f},
                      {2, 40, 40, 2, 12, 33, 3, 0, 1, 0.1f, 1e-5f},    {3, 17, 1, 1, 128, 64, 64, 0, 1, 0.1f, 1e-5f},
                      {5, 17, 17, 2, 64, 64, 8, 0, 1, 0.1f, 1e-5f},    {17, 17, 1, 1, 64, 64, 8, 0, 1, 0.1f, 1e-5f},
                      {3, 35, 35, 1, 64, 64, 8, 0, 0, 0.1f, 1e-5f}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int variant = 0; variant < 4; variant++) {
            shapes[i].half = variant / 2;
            all(shapes[i], variant % 2);
            whole_layer(shapes[i], variant % 2, 1);
            whole_layer(shapes[i], variant % 2, 0);
        }
    swapped(17, 128, 64), swapped(40, 18, 2), swapped(2, 512, 256), swapped(1, 4, 0);
    return 0;
}
