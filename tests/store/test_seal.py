import pytest

from whatwhere.errors import WhatwhereError
from whatwhere.store import seal


def test_a_seal_fits_its_content_and_owner_only():
    made = seal.make(b"content", seal.owner({"seed": 1}))
    seal.check(made, b"content", "it", "the seal", seal.owner({"seed": 1}))
    seal.check(made, b"content", "it", "the seal")  # who does not know the owner checks the rest
    seal.check(seal.make(b"content"), b"content", "it", "the seal", seal.owner({"seed": 1}))  # nobody's
    with pytest.raises(WhatwhereError, match=r"it is not as it was written.*on purpose, remove the seal"):
        seal.check(made, b"Content", "it", "the seal")
    with pytest.raises(WhatwhereError, match="it belongs to another run or to other settings"):
        seal.check(made, b"content", "it", "the seal", seal.owner({"seed": 2}))


@pytest.mark.parametrize("damaged", [None, 3, "", "v1", "v1:-:", "w1:-:00", "v1:-:xyz"])
def test_what_is_no_seal_is_damage(damaged: object):
    with pytest.raises(WhatwhereError, match="its seal cannot be read"):
        seal.check(damaged, b"", "it", "the seal")


def test_a_newer_format_is_refused_by_name():
    with pytest.raises(WhatwhereError, match=r"it has the format 2, and this whatwhere reads formats up to 1.*update"):
        seal.check("v2:-:00", b"", "it", "the seal")
    with pytest.raises(WhatwhereError, match="format"):
        seal.check_format("new", "it")
