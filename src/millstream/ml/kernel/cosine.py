"""The discrete cosine transform, by fast Fourier transforms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["cosine_transform", "inverse_cosine_transform"]

Floats = NDArray[np.float64]


def _weights(length: int) -> Floats:
    """The factors that make the transform orthogonal."""
    found = np.full(length, np.sqrt(1 / (2 * length)))
    found[:1] = np.sqrt(1 / (4 * length))
    return found


def cosine_transform(rows: Floats) -> Floats:
    """The orthogonal DCT-II of each row.

    Examples
    --------
    >>> cosine_transform(np.ones((1, 4))).round(9).tolist()
    [[2.0, 0.0, 0.0, 0.0]]
    """
    length = rows.shape[1]
    if not length:
        return rows
    mixed = np.concatenate([rows[:, ::2], rows[:, 1::2][:, ::-1]], axis=1)
    turn = np.exp(-0.5j * np.pi * np.arange(length) / length)
    return np.asarray(2 * (np.fft.fft(mixed, axis=1) * turn).real * _weights(length))


def inverse_cosine_transform(rows: Floats) -> Floats:
    """The inverse of `cosine_transform`.

    Examples
    --------
    >>> inverse_cosine_transform(np.array([[2.0, 0, 0, 0]])).round(9).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """
    length = rows.shape[1]
    if not length:
        return rows
    plain = rows / _weights(length)
    turned = np.zeros_like(plain)
    turned[:, 1:] = plain[:, :0:-1]
    turn = np.exp(0.5j * np.pi * np.arange(length) / length)
    mixed = np.fft.ifft(0.5 * (plain - 1j * turned) * turn, axis=1).real
    found = np.empty_like(rows)
    half = (length + 1) // 2
    found[:, ::2] = mixed[:, :half]
    found[:, 1::2] = mixed[:, half:][:, ::-1]
    return found
