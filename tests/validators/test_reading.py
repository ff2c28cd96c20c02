"""The judge's reading of statements."""

from keepthread.validators.judges.reading import read


def test_a_statement_is_read_once_however_many_it_is_compared_with() -> None:
    text = "The build command is make ci"
    assert read(text) and read(text) is read(text)
