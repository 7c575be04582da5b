"""Where the signs of a text say that a sentence or a clause ends, in the scripts in wide use."""

_SENTENCE_END = frozenset(".?!…‥。？！．؟۔।॥")
_CLAUSE_END = frozenset(",;:，、；：،؛—–")
_CLOSING = "\"'”’»)]}）］｝」』】〕〉》\u2069"
_OF_WORD_BEFORE = frozenset(",.!?;:…»)]}。，！？：；、”’」』）")


def ends_sentence(text: str) -> bool:
    """Whether the text ends a sentence, closing quotes and brackets aside."""
    return _last_sign(text) in _SENTENCE_END


def ends_clause(text: str) -> bool:
    """Whether the text ends with a comma or the like, closing quotes and brackets aside."""
    return _last_sign(text) in _CLAUSE_END


def belongs_to_word_before(text: str) -> bool:
    """Whether a text between spaces is punctuation of the word before it, as French sets it."""
    return text[:1] in _OF_WORD_BEFORE and not any(char.isalnum() for char in text)


def _last_sign(text: str) -> str:
    return text.rstrip().rstrip(_CLOSING)[-1:]
