"""Separating sets: points on which any two hypotheses of a class differ."""

from __future__ import annotations

import numpy as np

from likewise.errors import HypothesisError, ParameterError
from likewise.fixed_point import IntArray
from likewise.hypotheses.base import Bits, HypothesisClass
from likewise.validation import as_array


def greedy_separating_set(bits: Bits) -> IntArray:
    """Few columns of a 0/1 table on which all rows still differ; at most rows − 1.

    Each step takes the column that separates most of the pairs of rows that are still alike; ties
    go to the first. All rows must differ.

    >>> greedy_separating_set(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=np.uint8)).tolist()
    [0, 1]
    """
    bits = as_array(bits)
    if bits.ndim != 2 or bits.dtype.kind not in "biu" or bits.max(initial=0) > 1:
        raise HypothesisError(
            f"A table must be of 0s and 1s, a row for each hypothesis; got {bits.dtype} of shape "
            f"{bits.shape}."
        )
    rows = len(bits)
    group = np.zeros(rows, dtype=np.int64)
    chosen: list[int] = []
    candidates = bits.astype(np.int64)
    while len(np.unique(group)) < rows:
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
        sizes = np.diff(np.r_[starts, rows])
        ones = np.add.reduceat(candidates[order], starts, axis=0)
        separated = (ones * (sizes[:, None] - ones)).sum(axis=0)
        best = int(np.argmax(separated))
        if separated[best] == 0:
            raise _duplicate_rows()
        chosen.append(best)
        group = np.unique(np.stack([group, candidates[:, best]]), axis=1, return_inverse=True)[1]
    return np.array(chosen, dtype=np.int64)


def _duplicate_rows() -> HypothesisError:
    return HypothesisError(
        "Two rows of the table are the same, so no set of columns separates them. Merge "
        "duplicates first."
    )


def trie_separating_set(bits: Bits) -> IntArray:
    """Columns of a 0/1 table on which all rows still differ, in near-linear time; not the fewest.

    In the order of the rows as binary numbers, two rows differ first where two neighbours between
    them do: so the columns in which neighbours first differ suffice. The columns that divide the
    rows most evenly come first, so that they are few.

    >>> trie_separating_set(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=np.uint8)).tolist()
    [0, 1]
    """
    rows = len(bits)
    if rows < 2:
        return np.empty(0, dtype=np.int64)
    ones = bits.sum(axis=0, dtype=np.int64)
    order = np.argsort(np.abs(2 * ones - rows), kind="stable")
    packed = np.ascontiguousarray(np.packbits(bits[:, order], axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    packed = packed[np.argsort(keys, kind="stable")]
    apart = packed[1:] ^ packed[:-1]
    byte = np.argmax(apart != 0, axis=1)
    value = apart[np.arange(rows - 1), byte]
    if (value == 0).any():
        raise _duplicate_rows()
    first = 8 * byte + np.argmax(np.unpackbits(value[:, None], axis=1), axis=1)
    return np.sort(order[np.unique(first)])


def rows_as_bytes(packed: Bits) -> list[bytes]:
    """The rows of a table of bytes, each as a key of a dictionary."""
    width, text = packed.shape[1], np.ascontiguousarray(packed).tobytes()
    return [text[row * width : (row + 1) * width] for row in range(len(packed))]


def verify_separating_set(hypotheses: HypothesisClass) -> bool:
    """Test whether all hypotheses of a listable class differ on its separating set.

    *Definition "Separating set".*
    """
    if not isinstance(hypotheses, HypothesisClass):
        raise ParameterError(
            "hypotheses", "must be a hypothesis class", hypotheses, "Make one: Pool(…), …."
        )
    on_set = hypotheses.predict(hypotheses.codes(), hypotheses.separating_points())
    return len(np.unique(on_set, axis=0)) == hypotheses.size
