/* Whole layers with matrix products of their own, in float32 and in bfloat16 (layers.h), where these are faster than
   torch's: bfloat16 on processors that multiply it (AVX512_BF16) but not whole tiles of it (AMX), float32 on those with
   AVX2. */

#include "block.c"

/* Sums of TILE rows and PANEL columns fill the registers of the processor, with some left for factors. */
#ifdef __AVX512F__
enum { PANEL = 64 };
#else
enum { PANEL = 16 };
#endif
enum { TILE = 6, ACROSS_PANEL = PANEL / WIDE };

typedef uint32_t Bits __attribute__((vector_size(WIDE * sizeof(uint32_t)), aligned(4), may_alias));

/* The columns that a product takes at a time. */
int64_t panel(void) { return PANEL; }

/* Whether products of this precision are faster here than torch's. */
int64_t own_products(int64_t half) {
#if defined(__AVX512BF16__) && !defined(__AMX_BF16__)
    if (half) return 1;
#endif
#if defined(__AVX2__) && defined(__FMA__)
    if (!half) return 1;
#endif
    (void)half;
    return 0;
}

/* A layer in memory: its parameters; its rotations and dropout masks; its packed weights; what the forward pass stores for
   the gradient; its output; the gradients of its parameters, which are added to. Packed weights, y, u and z are in the
   precision of the products. */
typedef struct {
    const float *norm_weight, *norm_bias, *w_in, *b_mlp, *w_out, *b_out, *query_turn, *key_turn;
    const Dropout *attention, *output;
    void *into, *into_t, *back, *back_t, *y, *u, *z;
    float *mean, *inverse_std, *weights, *out;
    float *grad_norm_weight, *grad_norm_bias, *grad_w_in, *grad_b_mlp, *grad_w_out, *grad_b_out;
} Layer;

/* A mask from entry `at` on, stored in `copy`; NULL if nothing is dropped. */
static const Dropout *from_place(const Dropout *dropout, int64_t at, Dropout *copy) {
    if (!dropout) return NULL;
    *copy = *dropout;
    copy->first += at;
    return copy;
}

#define HALF 0
#include "layers.h"
#undef HALF
#define HALF 1
#include "layers.h"
#undef HALF

/* The shape of one of several layers: only the last may keep fewer positions than all. */
static Shape shape_of(const Shape *shape, int64_t layer, int64_t count) {
    Shape one = *shape;
    if (layer < count - 1) one.kept = one.seq;
    return one;
}

/* The most sequences that go through a layer together. */
int64_t sequences_together(const Shape *shape) {
    return shape->half ? together_bfloat16(shape) : together_float32(shape);
}

/* Numbers of scratch that layers take: what the passes do, then the gradients of y, u and z (of bfloat16 they take half of
   the place, and their terms down the rows the rest), then a panel. */
int64_t layer_scratch(const Shape *shape) {
    int64_t rows = sequences_together(shape) * shape->seq + 2;
    return scratch_size(shape) + rows * (5 * shape->width + 2 * shape->inner + PANEL);
}

/* Several layers after each other; each leaves its output in its own place. With `keep` they also leave what their gradient
   needs. */
void layers_forward(const Shape *shape, const Layer *layers, int64_t count, int64_t keep, const float *x,
                    float *scratch) {
    for (int64_t i = 0; i < count; i++) {
        Shape one = shape_of(shape, i, count);
        const float *from = i ? layers[i - 1].out : x;
        (one.half ? layer_forward_bfloat16 : layer_forward_float32)(&one, layers + i, keep, from, scratch);
    }
}

/* The gradient of x from that of the last output; `between` has room for two streams. */
void layers_backward(const Shape *shape, const Layer *layers, int64_t count, const float *x, const float *grad,
                     float *between, float *grad_x, float *scratch) {
    int64_t stream = shape->batch * shape->seq * shape->width;
    for (int64_t i = count - 1; i >= 0; i--) {
        Shape one = shape_of(shape, i, count);
        float *to = i ? between + i % 2 * stream : grad_x;
        const float *from = i ? layers[i - 1].out : x;
        (one.half ? layer_backward_bfloat16 : layer_backward_float32)(&one, layers + i, from, grad, to, scratch);
        grad = to;
    }
}

#include "swaps.c"
