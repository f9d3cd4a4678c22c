"""Head scores as a file that others read: the table ``heads``, as CSV or Parquet, on disk or as a dataset of the Hub.

The columns are those of :class:`whatwhere.studies.language_models.tables.HeadRow`. Each row says which model, which
revision, which text and which temperature, so tables of several models can be concatenated.
"""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd

from whatwhere.errors import WhatwhereError, extra_for
from whatwhere.heads.weighting import LEAST_TAU
from whatwhere.store.files import read_bytes
from whatwhere.store.manifest import Manifest
from whatwhere.store.tables import read_csv, write_csv
from whatwhere.studies.language_models.tables import LABELS, HeadRow

_CARD = """\
---
tags: [attention-heads, interpretability, rope, whatwhere]
---

# Positional and symbolic scores of attention heads

One row per head of {models}. `positional` is how far attention stays at its place when keys change places, `symbolic`
how far it follows their contents, each with a 95 % interval (`_low`, `_high`, `_n`). The columns are described in
docs/language_models.md of whatwhere, with which this table was made: `whatwhere heads MODEL --text FILE`.
"""


SHIPPED = Path(__file__).with_name("scores")
"""Scores of two models that come with the package, as CSV; docs/language_models.md says how they were made."""


_WITHIN = {
    **dict.fromkeys(("positional", "symbolic", "rest_positional", "previous", "induction"), (0, 1)),
    **dict.fromkeys(("layer", "head"), (0, 2**31)),
    "tau": (LEAST_TAU, 1e30),
}
"""What no table of ours has beyond."""


def shipped_scores() -> list[str]:
    """The names of the models whose scores come with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.csv"))


def read_scores(path: Path) -> pd.DataFrame:
    """The scores of a model's heads, from ``heads.csv``, its directory, a Parquet file, or the name of a shipped model.

    Raises:
        WhatwhereError: there is no such file, it has other columns, or no rows.
    """
    if not path.exists():
        if str(path) not in shipped_scores():
            raise WhatwhereError(
                f"expected a table of head scores at {path}, got nothing there; make one with: whatwhere heads MODEL, "
                f"or name one that ships: {', '.join(shipped_scores())}."
            )
        path = SHIPPED / f"{path}.csv"
    manifest = Manifest(path)
    if path.is_dir() and manifest.exists:  # results of ours: what was edited since is refused
        path, content = path / "heads.csv", manifest.get("heads.csv", "a table of head scores")
    else:
        path = path / "heads.csv" if path.is_dir() else path
        content = read_bytes(path, "a table of head scores")
    if path.suffix == ".parquet":
        try:
            content = write_csv(pd.read_parquet(io.BytesIO(content)))
        except ImportError as error:
            raise WhatwhereError(f"pyarrow is needed to read {path}; install it: pip install pyarrow") from error
        except (ValueError, OSError) as error:  # what pyarrow raises is one of these
            raise WhatwhereError(f"expected a Parquet file at {path}, got: {error!s:.160}.") from error
    found = read_csv(HeadRow, content, f"the head scores at {path}")
    if found.empty:
        raise WhatwhereError(f"expected scores of heads in {path}, got none; make them with: whatwhere heads MODEL")
    for column, (low, high) in _WITHIN.items():
        wrong = [value for value in found[column] if value == value and not low <= value <= high]
        if wrong:
            raise WhatwhereError(
                f"expected {column} between {low} and {high} in {path}, got {column} {wrong[0]}; make it again."
            )
    unknown = sorted(set(found["label"]) - {*LABELS})
    if unknown:
        raise WhatwhereError(
            f"expected labels of {', '.join(LABELS)} in {path}, got {unknown[0]!r:.60}; make it again."
        )
    return found


def to_parquet(scores: pd.DataFrame) -> bytes | None:
    """The scores as Parquet; None if pyarrow is not installed."""
    try:
        return scores.to_parquet(None, index=False)
    except ImportError:
        return None


def push(scores: pd.DataFrame, dataset: str) -> str:
    """Adds the scores to a dataset of the Hub, as CSV and, with pyarrow, as Parquet, in one commit; gives its address.

    The dataset, ``OWNER/NAME``, is made if it is not there.

    Raises:
        MissingExtraError: the client of the Hub is not installed.
        WhatwhereError: there is no token, or the Hub refuses.
    """
    with extra_for("to push scores to the Hub", "huggingface_hub", "hf"):
        from huggingface_hub import CommitOperationAdd, HfApi, get_token
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    if get_token() is None:
        raise WhatwhereError("expected a token of the Hub, got none; log in with: hf auth login, or set HF_TOKEN.")
    models = sorted(set(scores["model"]))
    name = "-".join(model.replace("/", "--") for model in models)
    contents = {f"{name}.csv": write_csv(scores), f"{name}.parquet": to_parquet(scores)}
    contents["README.md"] = _CARD.format(models=", ".join(models)).encode()
    added = [CommitOperationAdd(file, content) for file, content in contents.items() if content is not None]
    api = HfApi()
    try:
        api.create_repo(dataset, repo_type="dataset", exist_ok=True)
        made = api.create_commit(dataset, added, commit_message=f"Head scores of {name}", repo_type="dataset")
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise WhatwhereError(
            f"the Hub did not take the dataset {dataset}: {reason:.200}; nothing was changed there. Check its name "
            "(OWNER/NAME) and the rights of your token."
        ) from error
    return str(made.commit_url)
