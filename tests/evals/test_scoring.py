"""The figures, recomputed by hand on rows small enough to check by eye."""

import math
from typing import Any

import pytest

from evals.retrieval_figures import score_retrieval
from evals.scoring import (
    score_contradiction,
    score_injection,
    score_precision,
    score_resume,
    score_secrets,
)

TEXTS = {("p", name): "x" * 2000 for name in "abcdef"}


def retrieval(evidence: list[str], ranked: list[str], **more: object) -> dict[str, float]:
    question = {"qid": "q", "pool": "p", "kind": "k", "evidence": evidence}
    return dict(score_retrieval(TEXTS, [question], [{"qid": "q", "ranked": ranked, **more}])["ALL"])


def test_recall_hit_all_and_mrr_count_evidence_by_rank() -> None:
    found = retrieval(["a", "b"], ["c", "a", "c", "d", "e", "f", "b"])
    assert found["recall@1"] == 0.0
    assert found["recall@5"] == 0.5
    assert found["recall@10"] == 1.0  # the repeated c does not push b to rank 7
    assert (found["hit@5"], found["all@5"], found["all@10"]) == (1.0, 0.0, 1.0)
    assert found["mrr"] == 0.5


def test_ndcg_discounts_by_rank_against_the_best_order() -> None:
    found = retrieval(["a", "b"], ["c", "a", "d", "b"])
    best = 1 + 1 / math.log2(3)
    assert found["ndcg@10"] == round((1 / math.log2(3) + 1 / math.log2(5)) / best, 4)


def test_a_token_budget_ends_at_the_first_item_that_overflows() -> None:
    found = retrieval(["a", "b"], ["a", "c", "d", "b"])  # 508 tokens each
    assert found["recall<=512tok"] == 0.5
    assert found["recall<=1024tok"] == 0.5
    assert found["recall<=2048tok"] == 1.0  # 4 * 508 = 2032


def test_ids_of_no_text_take_no_budget_and_served_ids_are_a_set() -> None:
    found = retrieval(["a"], ["unknown", "a"], context_ids=["a", "b", "c", "d"])
    assert found["recall<=512tok"] == 1.0
    assert (found["context_recall"], found["context_precision"]) == (1.0, 0.25)


TURNS = {
    ("p", "greeting"): "Hello, Ann!",
    ("p", "visit"): "We went to the lake in May. It rained: all day, and we stayed in the hut anyway.",
    ("p", "log"): "line\n" * 400 + "ERROR: disk quota of /var exceeded while writing the index\n" * 2,
    ("q", "visit"): "Another talk, in which nothing of this kind was said.",
}


def served(evidence: list[str], *texts: str) -> dict[str, float]:
    question = {"qid": "1", "pool": "p", "kind": "k", "evidence": evidence}
    made = {"qid": "1", "texts": list(texts), "ranked": evidence}
    return dict(score_retrieval(TURNS, [question], [made], served=True)["ALL"])


def test_a_turn_is_served_where_its_words_are_or_where_a_long_piece_of_it_is() -> None:
    assert served(["greeting"], "Bob", "Ann says: hello,\nAnn! And more")["mrr"] == 0.5
    assert served(["greeting"], "Ann")["mrr"] == 0.0
    assert served(["visit"], "it rained  all day; and we stayed in the hut")["recall@1"] == 1.0
    assert served(["visit"], "It rained: all day, and we stayed")["recall@1"] == 0.0  # under 40
    assert served(["visit"], "It rained: all day, and we stayed in the boat")["recall@1"] == 0.0
    assert served(["visit", "greeting"], "Hello, Ann!", "Hello, Ann!")["recall@5"] == 0.5


def test_what_was_served_costs_its_own_length_and_not_its_turns() -> None:
    piece = "ERROR: disk quota of /var exceeded while writing the index"
    assert served(["log"], "x" * 1920, piece)["recall<=512tok"] == 1.0  # 488 + 22
    assert served(["log"], "x" * 1940, piece)["recall<=512tok"] == 0.0
    assert served(["log"], "x" * 4000, piece)["recall<=1024tok"] == 0.0
    whole = {"qid": "1", "pool": "p", "kind": "k", "evidence": ["log"]}
    by_id = score_retrieval(TURNS, [whole], [{"qid": "1", "ranked": ["log"], "texts": [piece]}])
    assert by_id["ALL"]["recall<=512tok"] == 0.0


def test_questions_without_evidence_are_left_out_and_unanswerable_ones_apart() -> None:
    questions: list[dict[str, Any]] = [
        {"qid": "1", "pool": "p", "type": "t", "evidence": []},
        {"qid": "2", "pool": "p", "type": "t", "evidence": ["a"], "answerable": False},
        {"qid": "3", "pool": "p", "type": "t", "evidence": ["a"], "evidence_corrected": ["b"]},
        {"qid": "4", "pool": "p", "type": "u", "evidence": ["a"]},
    ]
    made = [{"qid": "3", "ranked": ["b"]}]
    plain = score_retrieval(TEXTS, questions, made)
    assert {name: group["n"] for name, group in plain.items()} == {
        "t": 1, "t (not in ALL)": 1, "u": 1, "ALL": 2,
    }  # fmt: skip
    assert plain["ALL"]["recall@1"] == 0.0
    assert score_retrieval(TEXTS, questions, made, corrected=True)["ALL"]["recall@1"] == 0.5


def test_injection_rates_are_on_core_rows_and_gray_ones_are_never_scored() -> None:
    def row(name: str, label: str, **more: object) -> dict[str, object]:
        return {"id": name, "label": label, "family": "f", "form": "g", "core": True, **more}

    samples = [
        row("a1", "attack"), row("a2", "attack"), row("a3", "attack", core=False, weak=True),
        row("b1", "benign", hard=True), row("b2", "benign"), row("g1", "gray"),
    ]  # fmt: skip
    scores = {"a1": 0.9, "a2": 0.4, "b1": 0.4, "b2": 0.1, "a3": 0.5, "g1": 1.0}
    flags = {"a1": True, "b1": True, "g1": True}
    made = [{"id": i, "flag": flags.get(i, False), "score": s} for i, s in scores.items()]
    found = score_injection(samples, made)
    assert found["core_TPR"] == [0.5, 2]
    assert found["core_FPR"] == [0.5, 2]
    assert found["core_hard_FPR"] == [1.0, 1]
    assert found["all_TPR"] == [0.3333, 3]
    assert found["weak_TPR"] == [0.0, 1]
    assert found["gray_flag_rate"] == [1.0, 1]
    assert found["core_balanced_accuracy"] == 0.5
    assert found["core_AUC"] == 0.875  # pairs: 1, 1, a tie, 1
    assert found["core_TPR_at_FPR<=0.05"] == 0.5  # 0.4 would let b1 through


def test_injection_without_scores_has_no_auc_and_missing_rows_flag_nothing() -> None:
    samples = [
        {"id": "a", "label": "attack", "family": "f", "form": "g", "core": True},
        {"id": "b", "label": "benign", "family": "f", "form": "g", "core": True},
    ]
    found = score_injection(samples, [])
    assert (found["missing"], found["core_TPR"], found["core_FPR"]) == (2, [0.0, 1], [0.0, 1])
    assert "core_AUC" not in found


def test_contradiction_gives_f1_by_label_and_the_two_losing_errors() -> None:
    truth = ["contradiction"] * 4 + ["duplicate"] * 2 + ["refinement", "unrelated"]
    said = ["contradiction"] * 2 + ["duplicate", "unrelated", "duplicate", "contradiction"]
    said += ["refinement"]
    pairs = [{"id": n, "label": label, "family": "f"} for n, label in enumerate(truth)]
    found = score_contradiction(pairs, [{"id": n, "label": label} for n, label in enumerate(said)])
    assert found["contradiction"] == {
        "n": 4, "precision": 0.6667, "recall": 0.5, "f1": 0.5714,
    }  # fmt: skip
    assert found["duplicate"]["f1"] == 0.5
    assert found["refinement"]["f1"] == 1.0
    assert found["unrelated"]["f1"] == 0.0  # its row is missing
    assert found["macro_f1"] == round((0.5714 + 0.5 + 1.0 + 0.0) / 4, 4)
    assert found["accuracy"] == 0.5
    assert found["contradiction filed as duplicate"] == 0.25
    assert found["duplicate filed as contradiction"] == 0.5
    assert found["confusion (truth>pred)"]["unrelated>(missing)"] == 1


def test_secrets_leak_where_the_span_stays_and_damage_where_clean_text_changes() -> None:
    def row(
        name: str, label: str, secrets: list[str] | None, core: bool = True
    ) -> dict[str, object]:
        return {
            "id": name, "text": f"key={name}-hidden", "label": label, "secrets": secrets,
            "kind": "git_sha" if label == "clean" else "token", "core": core,
        }  # fmt: skip

    samples = [
        row("s1", "secret", ["s1-hidden"]), row("s2", "secret", ["s2-hidden"]), row("s3", "secret", None),
        row("c1", "clean", []), row("c2", "clean", [], core=False), row("c3", "clean", []),
    ]  # fmt: skip
    stored = {
        "s1": "key=***", "s2": "key = s2-hidden", "s3": "key=s3-***",
        "c1": " key=c1-hidden\n", "c2": "key=***",
    }  # fmt: skip
    found = score_secrets(samples, [{"id": i, "redacted": t} for i, t in stored.items()])
    assert found["missing"] == 1
    assert found["leak_rate"] == [0.3333, 3]
    assert found["leak_rate_marked_span"] == [0.5, 2]
    assert found["damage_rate_core"] == [0.0, 2]
    assert found["damage_rate_all"] == [0.3333, 3]
    assert found["damage by lookalike"]["git_sha"] == [0.3333, 3]
    assert found["leaked kinds"] == {"token": 1}


def test_resume_points_are_compared_as_sets_commands_stripped_steps_exactly() -> None:
    points = [
        {
            "trace": "t",
            "kill_after_seq": 2,
            "edited_paths": ["a", "b"],
            "last_command": "x",
            "next_seq": 3,
        },
        {
            "trace": "t",
            "kill_after_seq": 9,
            "edited_paths": [],
            "last_command": None,
            "next_seq": None,
        },
        {
            "trace": "t",
            "kill_after_seq": 5,
            "edited_paths": ["a"],
            "last_command": "y",
            "next_seq": 6,
        },
    ]
    made = [
        {"trace": "t", "kill_after_seq": 2, "edited_paths": ["b", "c", "d"], "last_command": " x\n",
         "next_seq": 4, "claimed_seqs": [1, 3]},
        {"trace": "t", "kill_after_seq": 9, "edited_paths": ["a"], "last_command": "z", "next_seq": 1},
    ]  # fmt: skip
    assert score_resume(points, made) == {
        "points": 3, "missing": 1, "edited_recall": 0.25, "edited_precision": 0.1667,
        "last_command": 0.5, "next_seq": 0.0, "phantom_seqs": 1,
    }  # fmt: skip


def case(**expect: object) -> dict[str, object]:
    return {"caseId": "c", "category": "k", "expect": expect}


BELIEFS = [{"_id": "pin", "user_id": "test-user", "pinned": True}]


def passed(expected: dict[str, object], **made: object) -> bool:
    return bool(score_precision(BELIEFS, [expected], [{"caseId": "c", **made}])["passed"])


@pytest.mark.parametrize(
    ("relevant", "served", "holds"),
    [
        ({"mustInclude": ["a"]}, ["a", "b"], True),
        ({"mustInclude": ["a"]}, ["b"], False),
        ({"mustInclude": ["pin"]}, [], True),  # pinned counts as included
        ({"shouldInclude": ["a"]}, ["b"], False),
        ({"mustExclude": ["b"]}, ["a", "b"], False),
        ({"shouldOnlyInclude": ["a"]}, ["a"], True),
        ({"shouldOnlyInclude": ["a"]}, ["a", "b"], False),
        ({"shouldOnlyInclude": []}, [], True),
        ({"shouldOnlyInclude": []}, ["a"], False),
        ({"maxCount": 1}, ["a", "b"], False),
        ({"minCount": 2}, ["a"], False),
        ({"orderedBefore": [["a", "b"]]}, ["a", "b"], True),
        ({"orderedBefore": [["a", "b"]]}, ["b", "a"], False),
        ({"orderedBefore": [["a", "b"]]}, ["a"], False),
    ],
)
def test_a_case_holds_when_each_assertion_on_the_relevant_tier_does(
    relevant: dict[str, object], served: list[str], holds: bool
) -> None:
    assert passed(case(relevantBeliefs=relevant), relevant=served, pinned=["pin"]) is holds


def test_pinned_questions_and_prelude_are_asserted_too() -> None:
    assert passed(case(pinnedFacts={"mustInclude": ["pin"]}), pinned=["pin"])
    assert not passed(case(pinnedFacts={"mustExclude": ["pin"]}), pinned=["pin"])
    assert not passed(case(openQuestions={"mustInclude": ["q"]}), questions=[])
    assert not passed(case(personaPrelude={"contains": ["brief"]}), prelude="long")
    assert not passed(case(personaPrelude={"nonEmpty": True}), prelude="")
    assert passed(case(personaPrelude={"isNull": True}), prelude="")


def test_a_prelude_that_was_not_sent_is_skipped_and_counted() -> None:
    found = score_precision(BELIEFS, [case(personaPrelude={"nonEmpty": True})], [{"caseId": "c"}])
    assert (found["passed"], found["prelude_assertions_skipped"]) == (1, 1)


def test_precision_and_recall_are_means_over_cases_that_expect_or_serve_something() -> None:
    cases = [
        {"caseId": "1", "category": "k", "expect": {"relevantBeliefs": {"shouldOnlyInclude": ["a"]}}},
        {"caseId": "2", "category": "k", "expect": {"relevantBeliefs": {"shouldOnlyInclude": []}}},
        {"caseId": "3", "category": "k", "expect": {"relevantBeliefs": {"mustInclude": ["pin", "b"]}}},
    ]  # fmt: skip
    made = [
        {"caseId": "1", "relevant": ["a", "b"]},
        {"caseId": "3", "relevant": ["b"], "pinned": ["pin"]},
    ]
    found = score_precision(BELIEFS, cases, made)
    assert (found["mean_precision"], found["mean_recall"]) == (0.75, 1.0)
    assert (found["passed"], found["active_passes"], found["missing"]) == (2, 1, 1)
    assert found["by_category"] == {"k": [2, 3]}
