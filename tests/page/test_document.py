import base64
import hashlib
import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whatwhere.page.document import assemble, embed_json


class Elements(HTMLParser):
    """The text of every script and style, by what a browser would take as such."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self._open: tuple[str, dict[str, str | None]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._open = tag, dict(attrs)
            self.found.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self._open:
            tag, attrs, text = self.found[-1]
            self.found[-1] = tag, attrs, text + data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._open = None


def elements(document: str) -> list[tuple[str, dict[str, str | None], str]]:
    parser = Elements()
    parser.feed(document)
    return parser.found


def policy(document: str) -> dict[str, list[str]]:
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', document)
    assert found
    return {name: values for name, *values in (part.split() for part in unescape(found[1]).split(";"))}


def sha(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_policy_allows_exactly_the_scripts_and_styles_of_the_document():
    document = assemble("title", "<p>body</p>", "p { color: red }", ["let a = 1;", "let b = a && 'ü';"], {"x": 1})
    allowed = policy(document)
    assert allowed["default-src"] == ["'none'"]
    assert allowed["script-src"] == [sha("let a = 1;"), sha("let b = a && 'ü';")]
    assert allowed["style-src"] == [sha("p { color: red }")]
    run = [text for tag, attributes, text in elements(document) if tag == "script" and not attributes]
    assert run == ["let a = 1;", "let b = a && 'ü';"]


def test_document_names_no_other_place():
    document = assemble("title", "", "", [], {})
    assert policy(document)["script-src"] == ["'none'"]
    assert not re.search(r"https?:|src=|href=|url\(", document)


hostile = st.one_of(
    st.text(),
    st.sampled_from(
        ["</script><img src=x onerror=alert(1)>", "<!--<script>", "\u2028\u2029", "]]>", "&lt;/script&gt;"]
    ),
)


@given(st.dictionaries(hostile, hostile))
def test_no_text_in_the_data_ends_its_element(data: dict[str, str]):
    document = assemble("title", "", "", [], data)
    [(_, attributes, text)] = [found for found in elements(document) if found[0] == "script"]
    assert attributes == {"type": "application/json", "id": "data"}
    assert json.loads(text) == data
    assert not set("<>&\u2028\u2029") & set(text)


def test_a_title_is_text():
    assert "<title>&lt;b&gt; &amp; &quot;c&quot;</title>" in assemble('<b> & "c"', "", "", [], {})


def test_numbers_that_json_lacks_become_null():
    data = {
        "a": float("nan"),
        "b": [float("inf"), 1.5],
        "c": np.array([[1, 2]]),
        "d": np.float32("nan"),
        "e": (None, True),
    }
    assert json.loads(embed_json(data)) == {"a": None, "b": [None, 1.5], "c": [[1, 2]], "d": None, "e": [None, True]}


@pytest.mark.parametrize("text", ["'</script>'", "'</SCRIPT >'", "'<!--'", "a\r\nb", "\0"])
def test_a_script_that_would_not_reach_the_browser_is_refused(text: str):
    with pytest.raises(AssertionError, match="would not reach the browser"):
        assemble("title", "", "", [text], {})


def test_a_style_that_would_end_early_is_refused():
    with pytest.raises(AssertionError, match="would not reach the browser"):
        assemble("title", "", "</style>", [], {})


def test_nothing_in_the_page_can_change_where_it_stands_or_send_anything():
    allowed = policy(assemble("title", "", "", [], {}))
    for part in ("default-src", "base-uri", "form-action"):
        assert allowed[part] == ["'none'"]
