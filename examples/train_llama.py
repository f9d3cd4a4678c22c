"""Train a small Llama on a text and watch its heads specialise.

    python examples/train_llama.py --out runs/llama
    whatwhere report runs/llama

Each line of rounds.txt is a round: five to ten words, sung again and again. Who remembers what followed a word the last
time knows the next one. Two steps do it: every word comes to know the word before it (heads that look one place back,
positional), and then the model looks for the place whose word before is the present one (heads that look at contents,
symbolic). These are the induction heads of language models.

No download; a minute or two on one core.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pandas as pd
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import whatwhere as ww
from whatwhere.heads.summary import label_of

TEXT = Path(__file__).parent / "rounds.txt"
LAYERS, HEADS, BATCH, WIDTH = 2, 4, 32, 64
HELD_OUT = 32
"""Lines that are never trained on: the heads are scored on them."""


def read_lines() -> tuple[torch.Tensor, list[str]]:
    """The lines as word ids ``[line, word]``, and the words."""
    lines = [line.split() for line in TEXT.read_text().splitlines()]
    words = sorted({word for line in lines for word in line})
    ids = {word: number for number, word in enumerate(words)}
    return torch.tensor([[ids[word] for word in line] for line in lines]), words


def main() -> None:
    """Trains, and prints what becomes of each head."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/llama"), help="where scores go (default: runs/llama)")
    parser.add_argument("--steps", type=int, default=1500, help="training steps (default: 1500)")
    parser.add_argument("--every", type=int, default=100, help="score the heads every so many steps (default: 100)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and of the batches (default: 0)")
    options = parser.parse_args()

    lines, words = read_lines()
    train, held_out = lines[:-HELD_OUT], lines[-HELD_OUT:]
    seq = lines.shape[1]
    queries = range(seq // 2, seq - 1, 4)  # by then every round has been sung twice
    torch.manual_seed(options.seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words), hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=LAYERS,
            num_attention_heads=HEADS, num_key_value_heads=HEADS, max_position_embeddings=seq,
        )
    )  # fmt: skip
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)

    # So short a training would leave most steps out to stay within the usual 5 % of the time: no budget here.
    watch = ww.HeadWatch(model, held_out, options.out, every=options.every, queries=queries, budget=None)
    began = time.monotonic()
    for step in range(options.steps + 1):
        batch = renamed(train[torch.randint(0, len(train), (BATCH,))], len(words))
        loss = model(input_ids=batch, labels=batch, use_cache=False).loss
        if values := watch(step, loss, final=step == options.steps):
            pure = ", ".join(f"{values[f'heads/pure_{kind}']:.0f} {kind}" for kind in ("positional", "symbolic"))
            print(
                f"step {step:>5}  loss {loss.item():.2f}  next word known {recall(model, held_out, queries):4.0%}  "
                f"pure heads: {pure}  ({time.monotonic() - began:.0f} s)",
                flush=True,
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
    show(options.out)
    print(f"\nScoring took {watch.share:.1%} of the training time. Draw it: whatwhere report {options.out}")


def renamed(lines: torch.Tensor, words: int) -> torch.Tensor:
    """The lines with their words exchanged for others, line by line, so that none can be known by heart."""
    names = torch.rand(len(lines), words).argsort(-1)  # [line, word]: a random order of the words for each line
    return names.gather(1, lines)


@torch.no_grad()
def recall(model: LlamaForCausalLM, lines: torch.Tensor, queries: range) -> float:
    """How often the word that follows is predicted."""
    guesses = model(input_ids=lines, use_cache=False).logits.argmax(-1)
    places = torch.tensor(queries)
    return float((guesses[:, places] == lines[:, places + 1]).float().mean())


def show(out: Path) -> None:
    """Prints each head before and after training."""
    print("\nhead   positional      symbolic        label")
    for (layer, head), rows in pd.read_csv(out / "scores.csv").groupby(["layer", "head"]):  # pyright: ignore[reportGeneralTypeIssues]
        positional, symbolic = rows["positional"].tolist(), rows["symbolic"].tolist()
        print(
            f"{layer}.{head}    {positional[0]:.2f} -> {positional[-1]:.2f}    "
            f"{symbolic[0]:.2f} -> {symbolic[-1]:.2f}    {label_of(positional[-1], symbolic[-1])}"
        )


if __name__ == "__main__":
    main()
