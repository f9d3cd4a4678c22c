"""Every statement of the paper that can be tested, as an object with its verdict; read from disk, never recomputed.

``claim`` says what a claim is, ``source`` where its numbers lie; then one module for each subject, in the paper's
order; ``judging`` puts them together and ``baseline`` remembers which ones held.
"""

from whatwhere.studies.baseline import regressions
from whatwhere.studies.claim import Claim, Finding, Judged
from whatwhere.studies.judging import CLAIMS, judge, write_claims

__all__ = ["CLAIMS", "Claim", "Finding", "Judged", "judge", "regressions", "write_claims"]
