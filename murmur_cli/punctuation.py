"""Where the signs of a text say that a sentence or a clause ends, in the scripts in wide use."""

_SENTENCE_END = frozenset(".?!…‥。？！．؟۔।॥")
_CLAUSE_END = frozenset(",;:，、；：،؛—–")
_CLOSING = "\"'”’»)]}）］｝」』】〕〉》\u2069"


def ends_sentence(text: str) -> bool:
    """Whether the text ends a sentence, closing quotes and brackets aside."""
    return _last_sign(text) in _SENTENCE_END


def ends_clause(text: str) -> bool:
    """Whether the text ends with a comma or the like, closing quotes and brackets aside."""
    return _last_sign(text) in _CLAUSE_END


def _last_sign(text: str) -> str:
    return text.rstrip().rstrip(_CLOSING)[-1:]
