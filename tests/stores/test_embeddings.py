"""The default embedder, and loading it in the background."""

import gzip
import math
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from keepthread.stores.embeddings import (
    TOKENIZER_FILE,
    BackgroundEmbedder,
    Embedder,
    EmbeddingError,
    EmbeddingUnavailable,
    OnnxEmbedder,
    load_embedder,
    pack_vector,
)


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


def vector(blob: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(blob) // 4}f", blob)


def cosine(a: bytes, b: bytes) -> float:
    return sum(x * y for x, y in zip(vector(a), vector(b), strict=True))


# The examples on the model's and the library's own pages.
@pytest.mark.parametrize(
    ("first", "second", "published"),
    [
        ("The weather is lovely today.", "It's so sunny outside!", 0.6660),
        ("The weather is lovely today.", "He drove to the stadium.", 0.1046),
        ("It's so sunny outside!", "He drove to the stadium.", 0.1411),
        ("That is a happy person", "That is a happy dog", 0.6946),
        ("That is a happy person", "That is a very happy person", 0.9429),
        ("That is a happy person", "Today is a sunny day", 0.2569),
    ],
)
def test_cosines_are_those_published_for_the_model(
    embedder: OnnxEmbedder, first: str, second: str, published: float
) -> None:
    assert cosine(*embedder.embed([first, second])) == pytest.approx(published, abs=0.01)


def test_a_text_alone_and_in_a_batch_gives_identical_bytes(embedder: OnnxEmbedder) -> None:
    texts = ["short", "a longer text about a flaky integration test " * 20, "ünïcödé 数据库", ""]
    assert embedder.embed(texts) == [embedder.embed([text])[0] for text in texts]


def test_a_vector_is_little_endian_float32_of_length_one(embedder: OnnxEmbedder) -> None:
    (blob,) = embedder.embed(["the build takes four minutes"])
    assert len(blob) == embedder.dimension * 4
    assert math.hypot(*vector(blob)) == pytest.approx(1.0, abs=1e-6)


def test_text_after_the_256th_token_changes_nothing(embedder: OnnxEmbedder) -> None:
    start = "alpha beta gamma delta " * 100
    first, second = embedder.embed([start + "cache", start + "database"])
    assert first == second


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "\ud800", "a" * 1_000_000, "\N{COMBINING ACUTE ACCENT}" * 10_000]
)
def test_odd_text_is_embedded_all_the_same(embedder: OnnxEmbedder, text: str) -> None:
    (blob,) = embedder.embed([text])
    assert cosine(blob, blob) == pytest.approx(1.0, abs=1e-6)


def test_no_texts_give_no_vectors(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_vector_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(EmbeddingError):
        pack_vector([0.5, bad, 0.5])


def test_a_zero_vector_is_refused() -> None:
    with pytest.raises(EmbeddingError):
        pack_vector([0.0] * 384)


def test_weights_that_were_tampered_with_are_refused(tmp_path: Path) -> None:
    weights = tmp_path / "model.onnx"
    weights.write_bytes(b"not the published weights")
    with pytest.raises(EmbeddingUnavailable, match="not the file that was published"):
        OnnxEmbedder(weights=weights)


def test_a_tokenizer_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json.gz"
    content = gzip.decompress(TOKENIZER_FILE.read_bytes())
    tokenizer.write_bytes(gzip.compress(content.replace(b'"[UNK]"', b'"[unk]"', 1)))
    with pytest.raises(EmbeddingUnavailable, match="not the file that was published"):
        OnnxEmbedder(tokenizer=tokenizer)


def test_a_tokenizer_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json.gz"
    tokenizer.write_bytes(TOKENIZER_FILE.read_bytes()[:1_000])
    with pytest.raises(EmbeddingUnavailable, match="Reinstall keepthread"):
        OnnxEmbedder(tokenizer=tokenizer)


def test_weights_that_are_missing_are_reported_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailable, match="Reinstall keepthread"):
        OnnxEmbedder(weights=tmp_path / "absent.onnx")


def test_the_setting_none_turns_embeddings_off() -> None:
    with pytest.raises(EmbeddingUnavailable, match="turned off"):
        load_embedder("none")


def test_the_default_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the default embedder opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert load_embedder("").model_id == load_embedder("default").model_id


def test_loading_and_embedding_leave_stdout_alone(capfd: pytest.CaptureFixture[str]) -> None:
    OnnxEmbedder().embed(["a text"])
    assert capfd.readouterr().out == ""


class OneDimension:
    model_id = "one"
    dimension = 1

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [pack_vector([1.0]) for _ in texts]


def test_the_background_embedder_is_loading_until_it_is_ready() -> None:
    gate = threading.Event()
    one = OneDimension()

    def load(name: str) -> Embedder:
        assert name == "any"
        gate.wait(10)
        return one

    background = BackgroundEmbedder("any", load)
    background.start()
    assert (background.state, background.get()) == ("loading", None)
    assert background.wait(0.01) is None
    gate.set()
    assert background.wait(10) is one
    assert (background.state, background.get()) == ("ready", one)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (EmbeddingUnavailable("install the extra"), "unavailable: install the extra"),
        (RuntimeError("broken build"), "unavailable: RuntimeError: broken build"),
    ],
)
def test_the_background_embedder_states_why_it_is_unavailable(error: Exception, state: str) -> None:
    def load(_: str) -> Embedder:
        raise error

    background = BackgroundEmbedder("", load)
    background.start()
    assert background.wait(10) is None
    assert background.state == state


@pytest.mark.parametrize("delay_seconds", [0.0, 0.1, 0.2, 0.3, 0.5])
def test_a_process_that_ends_while_the_embedder_loads_ends_cleanly(delay_seconds: float) -> None:
    program = (
        "import time\n"
        "from keepthread.stores.embeddings import BackgroundEmbedder\n"
        "BackgroundEmbedder('').start()\n"
        f"time.sleep({delay_seconds})\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, timeout=30
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
