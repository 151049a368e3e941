"""pFL^MF, one plain step per line (float64).

Algorithm 1 and Appendix A.1 of the pFL^MF paper, whose r is k here. U is (d, k), V is (n, k);
`gradients` is a list of n functions, the gradients of the f_i. No function modifies its arguments.
"""

import numpy as np


def factor_gradients(U, V, gradients):
    """Equation (7): the gradients of (1/n) sum f_i(U v_i) in U, and in V row by row."""
    n = len(gradients)
    in_U, in_V = np.zeros_like(U), np.zeros_like(V)
    for i in range(n):
        g = gradients[i](U @ V[i])
        in_U += np.outer(g, V[i]) / n
        in_V[i] = U.T @ g / n
    return in_U, in_V


def local_training(U, V, gradients, participants, head_step_size, local_steps, noise=None):
    """Return V_0, ..., V_K of a round, shape (K + 1, n, k): participants take K steps."""
    n = len(gradients)
    path = [V]
    for step in range(local_steps):
        V = V.copy()
        for i in participants:
            g = U.T @ gradients[i](U @ V[i]) / n
            if noise is not None:
                g = g + noise[step][i]
            V[i] = V[i] - head_step_size * g
        path.append(V)
    return np.array(path)


def algorithm_1(
    U, V, gradients, participants, step_size, head_step_size, local_steps, noise_U=0.0, noise_V=None
):
    """One round of Algorithm 1: U moves along the mean of the participants' G_i, at the old v_i."""
    path = local_training(U, V, gradients, participants, head_step_size, local_steps, noise_V)
    total = np.zeros_like(U)
    for i in participants:
        total += np.outer(gradients[i](U @ V[i]), V[i])
    mean = total / len(participants) if len(participants) else total
    return U - step_size * (mean + noise_U), path


def appendix_a1(
    U, V, gradients, participants, step_size, head_step_size, local_steps, noise_U=0.0, noise_V=None
):
    """One round of Appendix A.1: U moves along the whole gradient, at the old V."""
    path = local_training(U, V, gradients, participants, head_step_size, local_steps, noise_V)
    in_U, _ = factor_gradients(U, V, gradients)
    return U - step_size * (in_U + noise_U), path


def stationarity(U, path, gradients):
    """A round's part of Theorem 1's left side: in U at V_0, and in V the mean over V_k, k < K."""
    in_U, _ = factor_gradients(U, path[0], gradients)
    in_V = [np.sum(factor_gradients(U, V, gradients)[1] ** 2) for V in path[:-1]]
    return np.sum(in_U**2), np.mean(in_V)


def clip(D, delta):
    """Shorten every vector along the last axis to at most delta."""
    length = np.sqrt(np.sum(D**2, axis=-1, keepdims=True))
    return D * (delta / np.maximum(length, delta))


def diameter_steps(X, delta, steps):
    """Alternating directions for the models nearest to X of which no two are delta apart or more.

    min |theta - X|^2 / 2 subject to theta_i - theta_j = D_ij, |D_ij| <= delta; penalty 1/(2n),
    scaled multipliers Y. Returns theta, D and Y after so many steps.
    """
    n = len(X)
    Y = np.zeros((n, n, X.shape[1]))
    D = clip(X[:, None] - X[None], delta)
    theta = X
    for _ in range(steps):
        theta = 0.5 * (X + X.mean(axis=0) + (D - Y).mean(axis=1))
        differences = theta[:, None] - theta[None]
        D = clip(differences + Y, delta)
        Y = Y + differences - D
    return theta, D, Y
