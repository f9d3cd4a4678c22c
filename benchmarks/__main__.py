"""``python -m benchmarks [NAME ...]`` runs all benchmarks, or the named ones, each in a process of its own.

One that chose its threads would otherwise choose them for the next.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

names = sys.argv[1:] or sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))
for name in names:
    module = f"benchmarks.{name if name.startswith('bench_') else f'bench_{name}'}"
    ended = subprocess.run([sys.executable, "-c", f"from {module} import main; main()"], check=False)
    if ended.returncode:
        sys.exit(ended.returncode)
