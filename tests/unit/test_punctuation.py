import pytest

from murmur_cli.punctuation import ends_clause, ends_sentence


@pytest.mark.parametrize(
    "text", ["late.", 'late."', "回家吃饭。", "ماذا؟", "what?! ", "(so.)", "wait…"]
)
def test_ends_sentence_when_signs_close_it_then_true(text):
    assert ends_sentence(text)


@pytest.mark.parametrize("text", ["late,", "late", "", '"', "3.5"])
def test_ends_sentence_when_it_goes_on_then_false(text):
    assert not ends_sentence(text)


def test_ends_clause_when_comma_of_any_script_then_true():
    assert all(map(ends_clause, ["so,", "今天，", "نعم،", "first:", "so,”"]))
    assert not any(map(ends_clause, ["so.", "so", ""]))
