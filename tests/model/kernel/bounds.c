/* Calls every function of block.c on arrays of exactly the promised size; built with sanitizers, which end the program
   at the first access outside of them, and at the first thing that C leaves undefined. */

#include "block.c"

#include <stdlib.h>

static void *array(int64_t numbers, int64_t half) {
    char *bytes = malloc(numbers * (half ? 2 : 4));
    memset(bytes, 0x3e, numbers * (half ? 2 : 4)); /* about 0.19, either way */
    return bytes;
}

static void all(Shape shape, int masked) {
    int64_t rows = shape.batch * shape.seq, d = shape.width, inner = shape.inner, seq = shape.seq;
    int64_t cells = shape.batch * shape.heads * seq * seq, turns = 2 * seq * shape.planes;
    float *x = array(rows * d, 0), *weight = array(d, 0), *bias = array(d, 0), *out = array(rows * d, 0);
    float *mean = array(rows, 0), *inverse = array(rows, 0), *grad_weight = array(d, 0), *grad_bias = array(d, 0);
    float *b_mlp = array(inner, 0), *grad_b_mlp = array(inner, 0), *weights = array(cells, 0);
    float *query_turn = array(turns, 0), *key_turn = array(turns, 0);
    float *attention_mask = masked ? array(cells, 0) : NULL, *output_mask = masked ? array(rows * d, 0) : NULL;
    float *forward = array(3 * seq * d + d + 2 * inner + seq, 0), *backward = array(7 * seq * d + 2 * inner + seq, 0);
    void *y = array(rows * d, shape.half), *u = array(rows * (d + inner), shape.half);
    void *z = array(rows * (3 * d + inner), shape.half), *grad_z = array(rows * (3 * d + inner), shape.half);

    norm_forward(&shape, x, weight, bias, y, mean, inverse, forward);
    mix_forward(&shape, masked, z, b_mlp, query_turn, key_turn, attention_mask, u, weights, forward);
    residual_forward(&shape, x, y, bias, output_mask, out, forward);
    residual_backward(&shape, x, output_mask, y, grad_bias, backward);
    mix_backward(&shape, u, z, query_turn, key_turn, attention_mask, weights, grad_z, grad_b_mlp, backward);
    norm_backward(&shape, y, x, mean, inverse, weight, x, out, grad_weight, grad_bias, backward);
    dropout_mask(1, 2, 5, rows * d, 1000, 1.1f, out);

    void *taken[] = {
        x, weight, bias, out, mean, inverse, grad_weight, grad_bias, b_mlp, grad_b_mlp, weights, query_turn, key_turn,
        attention_mask, output_mask, forward, backward, y, u, z, grad_z,
    };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) free(taken[i]);
}

int main(void) {
    Shape shapes[] = {{2, 17, 1, 128, 512, 64, 0, 1, 0.1f, 1e-5f}, {3, 1, 2, 8, 5, 0, 0, 0, 0.1f, 1e-5f},
                      {1, 7, 3, 18, 1, 2, 0, 1, 0.1f, 1e-5f},      {0, 5, 1, 4, 4, 1, 0, 0, 0.1f, 1e-5f},
                      {2, 40, 2, 12, 33, 3, 0, 1, 0.1f, 1e-5f}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int variant = 0; variant < 4; variant++) {
            shapes[i].half = variant / 2;
            all(shapes[i], variant % 2);
        }
    return 0;
}
