"""FLUTE for linear models, one plain loop per sum (float64).

Equation numbers are those of the FLUTE paper. ``clients`` is a list of (X_i, y_i) with X_i of
shape (m_i, d) and y_i of shape (m_i,); B is (d, k); W is (n, k) and row i is client i's head (the
paper's W transposed); Phi is (d, n). No function modifies its arguments.
"""

import numpy as np

from .fedrep import client_gradient, client_loss


def head_gradient(X, y, B, w):
    """Gradient of (1 / 2m)||y - X B w||^2 in w, the half of equation (5)'s."""
    m = X.shape[0]
    gradient = np.zeros(w.shape)
    for j in range(m):
        gradient += (w @ B.T @ X[j] - y[j]) * B.T @ X[j]
    return gradient / m


def regularizer_gradients(B, W, gamma1, gamma2):
    """Gradients in B and W of -gamma1 ||B W'||_F^2 + gamma2 (||B'B||_F^2 + ||W'W||_F^2), (4)."""
    in_B = -2 * gamma1 * B @ W.T @ W + 4 * gamma2 * B @ B.T @ B
    in_W = -2 * gamma1 * W @ B.T @ B + 4 * gamma2 * W @ W.T @ W
    return in_B, in_W


def objective(clients, B, W, gamma1, gamma2, *, loss="full", clients_as="mean"):
    """Equation (4); with loss="half" each squared error is halved, "sum" leaves out its 1/M."""
    total = 0.0
    for i, (X, y) in enumerate(clients):
        total += client_loss(X, y, B, W[i])
    total *= {"half": 1.0, "full": 2.0}[loss]
    total /= {"sum": 1, "mean": len(clients)}[clients_as]
    regularizer = -gamma1 * np.sum((B @ W.T) ** 2)
    regularizer += gamma2 * (np.sum((B.T @ B) ** 2) + np.sum((W.T @ W) ** 2))
    return float(total + regularizer)


def round(
    clients,
    B,
    W,
    selected,
    step_size,
    regularizer_step_size,
    gamma1=0.25,
    gamma2=0.125,
    *,
    loss="half",
    clients_as="sum",
    regularized_at="start",
):
    """One epoch of Algorithm 1, equations (5) and (6); returns (B_new, W_new, loss).

    loss "full" is equation (5)'s L_i = (1/m)||.||^2, "half" the gradients of Appendix A.1.
    clients_as "sum" adds up the clients' gradients as (5) does, "mean" is gradient descent on (4),
    1/M before both gradients. Selected clients stand for all: their sum is scaled by n over their
    number, and the heads of the others stay. regularized_at "start" takes (6) at index t - 1, as
    printed; "moved" at the server's averages. The loss is the mean half squared error at (B, W).
    """
    n = W.shape[0]
    scale = {"half": 1.0, "full": 2.0}[loss] / {"sum": 1, "mean": n}[clients_as]
    B_bar, W_bar = B.copy(), W.copy()
    total = 0.0
    for i in selected:
        X, y = clients[i]
        total += client_loss(X, y, B, W[i])
        weight = step_size * scale * n / len(selected)
        B_bar = B_bar - weight * client_gradient(X, y, B, W[i])
        W_bar[i] = W[i] - step_size * scale * head_gradient(X, y, B, W[i])
    at = {"start": (B, W), "moved": (B_bar, W_bar)}[regularized_at]
    in_B, in_W = regularizer_gradients(*at, gamma1, gamma2)
    B_new = B_bar - regularizer_step_size * in_B
    W_new = W.copy()
    for i in selected:
        W_new[i] = W_bar[i] - regularizer_step_size * in_W[i]
    return B_new, W_new, total / len(selected)


def population_round(Phi, B, W, data, first, second):
    """B - data (B W' - Phi) W + B (first W'W - second B'B), and W in the same way.

    The round above for covariance I: data is the weight of its half squared losses' gradients,
    first = 2 gamma1 eta_r, second = 4 gamma2 eta_r.
    """
    residual = B @ W.T - Phi
    B_new = B - data * residual @ W + B @ (first * W.T @ W - second * B.T @ B)
    W_new = W - data * residual.T @ B + W @ (first * B.T @ B - second * W.T @ W)
    return B_new, W_new


def theta_map(Theta, eigenvalues, step_size, R=0.0):
    """Equation (13)."""
    Lambda = np.diag(eigenvalues)
    return Theta + step_size / 2 * Lambda @ Theta - step_size / 2 * Theta @ Theta.T @ Theta + R


def padded(A, rows):
    """A with rows of zeros below."""
    return np.vstack([A, np.zeros((rows - A.shape[0], A.shape[1]))])


def eigenvalues(singular_values, n, d):
    """Eigenvalues of diag(2 Lambda*, -2 Lambda*), in its own order and then sorted."""
    size = max(n, d)
    Lambda = np.zeros(size)
    Lambda[: len(singular_values)] = singular_values
    unsorted = np.concatenate([2 * Lambda, -2 * Lambda])
    return unsorted, np.array(sorted(unsorted, reverse=True))


def lifted(Phi, B, W):
    """Theta^t of Appendix A.1 for a matrix of models, rows in the order of the eigenvalues.

    Of equal eigenvalues, those of the upper block come first, and each block keeps its order.
    """
    d, n = Phi.shape
    U, singular_values, VT = np.linalg.svd(Phi)
    B_star, W_star = padded(U.T @ B, max(n, d)), padded(VT @ W, max(n, d))
    Theta = np.vstack([B_star + W_star, B_star - W_star]) / np.sqrt(2)
    return Theta, eigenvalues(singular_values, n, d)[0]


def discrepancy(clients, Phi, B, W, step_size):
    """Q of equation (11), and the transpose of Q~, (12)."""
    Q, Qt = np.zeros(B.shape), np.zeros(W.shape)
    for i, (X, y) in enumerate(clients):
        m = X.shape[0]
        error = B @ W[i] - Phi[:, i]
        noise = y - X @ Phi[:, i]
        Q += step_size * np.outer(error - X.T @ X @ error / m + X.T @ noise / m, W[i])
        Qt[i] = step_size * B.T @ (error - X.T @ X @ error / m + X.T @ noise / m)
    return Q, Qt
