"""What a passage counts: its words, its meaning, its neighbours and its conversation."""

import pytest

from keepthread.stores.ranking import Place, bonuses, identifiers, totals

HOUR = 3_600.0


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("I have been sneezing lately. Is it my living room?", []),
        ("What did they do in the U.S. on the 15th at 7pm, J.K. and Mrs. Lee?", []),
        ("where is retry_policy_max set?", ["retry_policy_max"]),
        ("Is InvoiceRouter in app/routes.py.", ["InvoiceRouter", "app/routes.py"]),
        ("latest edit of /srv/app/models.py", ["/srv/app/models.py"]),
        ("does http2 need v1.2?", ["http2", "v1.2"]),
    ],
)
def test_an_identifier_is_what_only_code_or_a_file_system_spells_so(
    query: str, found: list[str]
) -> None:
    assert identifiers(query) == found


def test_a_turn_takes_a_share_of_the_words_beside_it_more_of_those_before() -> None:
    places = {n: Place(n, 60.0 * n) for n in (1, 2, 3)}
    counted = totals({2: 4.0}, {1: 0.3, 2: 0.3, 3: 0.3}, places)
    assert counted[2] > counted[3] > counted[1]
    apart = {1: Place(1, 0.0), 2: Place(2, 60.0), 3: Place(3, 60.0 + 2 * HOUR)}
    counted = totals({2: 4.0}, {1: 0.3, 3: 0.3}, apart)
    assert counted[1] > counted[3]


def test_a_conversation_in_which_the_words_were_said_counts_before_another() -> None:
    """Passage 9 stands in the conversation of passage 1, passage 20 in none of it."""
    places = {n: Place(n, 600.0 * n) for n in range(1, 10)} | {20: Place(20, 100 * HOUR)}
    counted = totals({1: 4.0, 9: 1.0, 20: 1.0}, {}, places)
    assert counted[9] > counted[20]


def test_what_has_no_word_in_common_and_is_not_near_is_no_candidate() -> None:
    places = {n: Place(n, 0.0) for n in (1, 2, 3)}
    assert set(totals({1: 2.0}, {2: 0.1, 3: 0.5}, places)) == {1, 3}


def test_identifiers_count_extra_and_the_newest_where_it_is_asked_for() -> None:
    places = {n: Place(n, 0.0) for n in (1, 2)}
    texts = {1: "retry_max = 3", 2: "retries of the maximum"}
    assert bonuses("what is retry_max", texts, places) == {1: 0.5, 2: 0.0}
    latest = bonuses("the latest value of retries", texts, places)
    assert latest[2] > latest[1]
