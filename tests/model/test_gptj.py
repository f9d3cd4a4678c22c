import numpy as np
import pytest
import torch
from torch import Tensor

from whatwhere.errors import WhatwhereError
from whatwhere.model import gptj
from whatwhere.model.gptj import GPTJ
from whatwhere.model.shape import ModelConfig
from whatwhere.trace.interventions import ScaleAngles
from whatwhere.trace.traceable import run, trace

TOKENS = torch.randint(0, 20, (6, 9), generator=torch.Generator().manual_seed(0))


def small(**changes) -> GPTJ:
    shape = {"layers": 3, "heads": 2, "d_model": 16, "d_mlp": 32, "rotary_dim": 6, "init_std": 0.3} | changes
    return GPTJ(ModelConfig(20, **shape)).double()


def test_the_last_position_alone_gives_the_same_answer():
    model = small()
    torch.testing.assert_close(model.answer_logits(TOKENS), model(TOKENS)[:, -1])


def test_nothing_later_changes_what_came_before():
    model = small()
    changed = TOKENS.clone()
    changed[:, 6:] = (changed[:, 6:] + 1) % 20
    torch.testing.assert_close(model(TOKENS)[:, :6], model(changed)[:, :6])


def test_without_rotation_the_order_of_the_keys_does_not_matter():
    shuffled = TOKENS[:, [3, 1, 4, 0, 2, 7, 6, 5, 8]]
    nope = small(layers=1, rope_base=None)
    torch.testing.assert_close(nope.answer_logits(TOKENS), nope.answer_logits(shuffled))
    rotary = small(layers=1)
    assert (rotary.answer_logits(TOKENS) - rotary.answer_logits(shuffled)).abs().max() > 1e-3


def test_layers_from_a_given_one_on_run_without_rotation():
    model = small(nope_from=1)
    rotations = [layer.rotation.frequencies for layer in trace(model, TOKENS).layers]
    assert [bool(frequencies.any()) for frequencies in rotations] == [True, False, False]
    everywhere, nowhere = small(nope_from=0), small(rope_base=None)
    torch.testing.assert_close(everywhere(TOKENS), nowhere(TOKENS))
    assert (everywhere(TOKENS) - model(TOKENS)).abs().max() > 1e-3
    torch.testing.assert_close(small(nope_from=3)(TOKENS), small()(TOKENS))
    torch.testing.assert_close(model(TOKENS), run(small(), TOKENS, interventions=[ScaleAngles(0.0, layers=(1, 2))]))


def test_a_closed_plane_has_no_say_in_the_logits():
    open_model, closed = small(layers=1), small(layers=1, closed_planes=((2,),))
    closed.load_state_dict(open_model.state_dict())
    layer, gated = trace(open_model, TOKENS).layers[0], trace(closed, TOKENS).layers[0]
    planes = layer.rotation.planes(layer.queries)  # [batch, head, query, plane, 2]
    kept = layer.rotation.planes(gated.queries)
    assert (kept[..., 1, :] == 0).all()
    torch.testing.assert_close(kept[..., [0, 2], :], planes[..., [0, 2], :])
    assert (gated.attention() - layer.attention()).abs().max() > 1e-4
    torch.testing.assert_close(gated.attention()[:, :, 0], attention_of(closed, TOKENS))


def attention_of(model: GPTJ, tokens: Tensor) -> Tensor:
    """The last query's attention in the forward pass itself, read off by averaging one-hot values."""
    block = next(iter(model.layers()))
    turns = model.turns(tokens.shape[1])
    w_query, w_key, _, _ = block.w_in.split(block.sizes)
    y = block.norm(model.embedding(tokens))
    queries = gptj.turn(block.split_heads(y[:, -1:] @ w_query.T), (turns * model.gates[0])[:, -1:])
    keys = gptj.turn(block.split_heads(y @ w_key.T), turns)
    return (queries @ keys.mT * block.scale).softmax(-1)[:, :, 0]


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    config = ModelConfig(20, layers=1, d_model=8, d_mlp=8)
    first, again, other = GPTJ(config, seed=1), GPTJ(config, seed=1), GPTJ(config, seed=2)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True))
    assert not torch.equal(first.embedding.weight, other.embedding.weight)


def test_prediction_in_small_batches_equals_prediction_at_once(monkeypatch: pytest.MonkeyPatch):
    model = small()
    at_once = model.predict(TOKENS.numpy())
    monkeypatch.setattr(gptj, "_CELLS_AT_ONCE", 1)
    np.testing.assert_array_equal(model.predict(TOKENS.numpy()), at_once)
    np.testing.assert_array_equal(at_once, model(TOKENS)[:, -1].argmax(-1).numpy())


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (np.zeros(5, int), r"table of ids \[batch, seq\]"),
        (np.zeros((2, 5)), "table of ids"),
        (np.zeros((2, 0), int), "table of ids"),
        (np.full((2, 5), 20), r"in 0..19.* got 20..20"),
        (np.full((2, 5), -1), "got -1..-1"),
    ],
)
def test_tokens_that_the_model_cannot_read_are_refused(tokens: np.ndarray, message: str):
    with pytest.raises(WhatwhereError, match=message):
        small().predict(tokens)


def test_without_a_gradient_edits_give_the_same():
    model = small().float()  # the compiled path takes float32
    halved = {1: lambda attended: attended / 2}
    *_, wanted = model.residuals(TOKENS, edits=halved)
    with torch.no_grad():
        *_, found = model.residuals(TOKENS, edits=halved)
        *_, replaced = model.residuals(TOKENS, edits={1: torch.zeros(1, TOKENS.shape[1], 2, 8)})
    torch.testing.assert_close(found, wanted.detach())
    *_, wanted = model.residuals(TOKENS, edits={1: torch.zeros_like})
    torch.testing.assert_close(replaced, wanted.detach())


def test_an_edit_replaces_what_the_heads_of_one_layer_attended_to():
    model = small()
    *_, untouched = model.residuals(TOKENS, edits={1: lambda attended: attended})
    torch.testing.assert_close(model.head(model.norm(untouched)), model(TOKENS))
    *_, without = model.residuals(TOKENS, edits={1: torch.zeros_like})
    block = list(model.layers())[1]
    with torch.no_grad():
        block.w_out[:, : model.config.d_model] = 0
    torch.testing.assert_close(model.head(model.norm(without)), model(TOKENS))


def last_logits(model: GPTJ, positions: Tensor | None) -> Tensor:
    *_, x = model.residuals(TOKENS, last_only=True, positions=positions)
    return model.read_out(x)


def test_only_distances_between_positions_count():
    model = small()
    plain = last_logits(model, None)
    torch.testing.assert_close(plain, model.answer_logits(TOKENS))
    assert torch.equal(last_logits(model, torch.arange(9)), plain)
    torch.testing.assert_close(last_logits(model, torch.arange(9) + 1000), plain, rtol=1e-4, atol=1e-4)
    assert (last_logits(model, torch.tensor([0, 1, 2, 5, 6, 7, 11, 12, 30])) - plain).abs().max() > 1e-3


def test_left_out_positions_are_those_of_tokens_that_nobody_sees():
    """One layer: tokens that are left out of the keys, or positions that are left out, come to the same."""
    model = small(layers=1, heads=1, rotary_dim=16)
    kept = [0, 2, 3, 5, 8]
    layer = trace(model, TOKENS).layers[0]
    logits = layer.logits()[:, :, -1][..., kept]  # [batch, head, kept]
    queries, keys = (model.turns_of(0, len(kept), torch.tensor(kept))[which] for which in (0, 1))
    turned = gptj.turn(layer.keys[:, :, kept], keys)
    asked = gptj.turn(layer.queries[:, :, -1:], queries[:, -1:])
    torch.testing.assert_close((asked @ turned.mT)[:, :, 0] * layer.scale, logits, rtol=1e-5, atol=1e-6)
