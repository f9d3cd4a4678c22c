"""``python -m benchmarks [NAME ...]`` runs all benchmarks, or the named ones."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

names = sys.argv[1:] or sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
for name in names:
    import_module(f"benchmarks.{name if name.startswith('bench_') else f'bench_{name}'}").main()
