"""FedRep with steps found on the way, as ``linrep.fedrep``'s notes state it (float64).

``clients`` is a list of (X_i, y_i); B is (d, k) with orthonormal columns; W is (n, k). Nothing is
modified; a state is what a run remembers between rounds.
"""

import numpy as np

from .fedrep import client_gradient, client_loss, head_gradient_steps, head_least_squares
from .subspace import orthonormalize


def largest_eigenvalue(X, iterations=10, settled=1e-2):
    """Largest eigenvalue of X'X/m by the power method, from the longest row."""
    m = len(X)
    v = X[np.argmax(np.sum(X**2, axis=1))]
    before = 0.0
    for _ in range(iterations):
        if not np.any(v):
            break
        v = v / np.max(np.abs(v))
        value = float((X @ v) @ (X @ v) / (v @ v) / m)
        done = abs(value - before) <= settled * value
        before = value
        if done:
            break
        v = X.T @ (X @ v)
    return before


def head_curvature(W, largest, known):
    """H = mean of lambda_i w_i w_i' over the clients with a head, damped."""
    n, k = W.shape
    there = np.flatnonzero(known)
    H = np.zeros((k, k))
    for i in there:
        H += largest[i] * np.outer(W[i], W[i]) / len(there)
    return H + (1e-10 + (1.0 - len(there) / n) / k) * np.trace(H) * np.eye(k)


def divided(G, H):
    """G H^{-1}, 0 where H is."""
    return np.linalg.solve(H, G.T).T if np.trace(H) > 0.0 else np.zeros_like(G)


def start(n):
    """What a run remembers before its first round."""
    return {
        "losses": [], "length": 0.0, "rounds": 0, "known": np.zeros(n, bool), "curvature": 0.0,
        "last": np.zeros(n), "share": 1.0, "seen": 0, "change": 0.0,
    }  # fmt: skip


def round(clients, B, W, selected, state, largest, *, local_steps=None):
    """One round; returns B, W, the mean loss of the selected clients, the length, the state."""
    n, s = len(clients), len(selected)
    W, G, own = W.copy(), np.zeros(B.shape), {}
    for i in selected:
        X, y = clients[i]
        if local_steps is None:
            W[i] = head_least_squares(X, y, B)
        else:
            W[i] = head_gradient_steps(X, y, B, W[i], local_steps, None)
        own[i] = client_loss(X, y, B, W[i])
        G += client_gradient(X, y, B, W[i]) / s
    loss = sum(own.values()) / s
    state = dict(state)
    everyone, exact = s == n, local_steps is None
    accepted = state["rounds"]
    if everyone and exact and accepted and not loss <= (1.0 + 1e-12) * max(state["losses"][-8:]):
        shorter = 0.25 * state["length"]
        state["length"] = max(1.0, shorter) if state["length"] > 1.0 else shorter
        B = orthonormalize(state["B"] - state["length"] * state["P"])
        return B, W, loss, state["length"], state
    if not everyone:
        before = [i for i in selected if state["known"][i]]
        state["seen"] += len(before)
        state["change"] += sum(own[i] - state["last"][i] for i in before)
        if state["seen"] >= n:
            state["share"] *= 1.0 if state["change"] < 0.0 else 0.5
            state["seen"], state["change"] = 0, 0.0
    state["known"], state["last"] = state["known"].copy(), state["last"].copy()
    for i in selected:
        state["known"][i], state["last"][i] = True, own[i]
    H = head_curvature(W, largest, state["known"])
    length = 1.0
    if everyone:
        state["losses"] = [*state["losses"], loss]
        if exact and accepted:
            length = short_length(B, G, H, state)
    P = divided(G, H)
    slope = float(np.sum(P * G))
    if slope > 0.0 and not (everyone and exact and accepted):
        along = 0.0
        for i in selected:
            X = clients[i][0]
            along += np.sum((X @ P @ W[i]) ** 2) / len(X) / s
        share = 1.0 if everyone else max(1.0 / (accepted + 1), 0.5 * s / n)
        state["curvature"] += share * (along / slope - state["curvature"])
        length = 1.0 / state["curvature"] if state["curvature"] > 0.0 else 1.0
        length = max(1.0, length) if everyone else state["share"] * length
    state |= {"B": B, "G": G, "P": P, "length": length, "rounds": accepted + 1}
    return orthonormalize(B - length * P), W, loss, length, state


def short_length(B, G, H, state):
    """s'y / y'H^{-1}y with s the last step and y the change of the gradient, in its coordinates."""
    step = -state["length"] * state["P"]
    R = B.T @ (state["B"] + step)
    y = G @ np.linalg.inv(R).T - state["G"]
    gained = float(np.sum(step * y))
    square = float(np.sum(y * divided(y, H)))
    if gained == 0.0:
        return state["length"]
    if not gained > 0.0 or not square > 0.0:
        return 2.0 * state["length"]
    return max(1.0, gained / square)
