import hashlib
import re

from whatwhere.page.writing import VENDOR, read


def test_vendored_scripts_are_the_published_ones():
    listed = dict(re.findall(r"^\| (\S+\.js) \|.*\| ([0-9a-f]{64}) \|$", read("vendor/README.md"), re.MULTILINE))
    assert {f"vendor/{name}" for name in listed} == set(VENDOR)
    for name, expected in listed.items():
        assert hashlib.sha256(read(f"vendor/{name}").encode()).hexdigest() == expected, name


def test_each_vendored_script_comes_with_its_licence():
    for licence in ("d3.LICENSE", "plot.LICENSE"):
        assert "Permission to use, copy, modify" in read(f"vendor/{licence}")
