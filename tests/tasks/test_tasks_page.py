import doctest
from pathlib import Path


def test_the_examples_of_the_page_about_tasks_run_as_printed():
    page = Path(__file__).parents[2] / "docs" / "tasks.md"
    text = page.read_text().replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "tasks.md", str(page), 0)
    result = doctest.DocTestRunner().run(test)
    assert result.attempted >= 11
    assert result.failed == 0
