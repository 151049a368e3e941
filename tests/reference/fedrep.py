"""FedRep for linear regression and its baselines, one plain loop per sum (float64).

Equation numbers are those of the FedRep paper. ``clients`` is a list of (X_i, y_i) with X_i of
shape (m_i, d) and y_i of shape (m_i,); B is (d, k); W is (n, k) and row i is client i's head.
No function modifies its arguments.
"""

import numpy as np
import scipy.linalg

from .subspace import distance, orthonormalize


def _largest_eigenvalue(A):
    return float(np.linalg.eigvalsh(A)[-1])


def _inverse_or_zero(value):
    return 1.0 / value if value > 0 else 0.0


# One client: the batch loss (8) and its derivatives.


def head_least_squares(X, y, B):
    """argmin_w of equation (8) at fixed B; the minimum-norm w where it is not unique.

    A direction along which X B is 1e-13 of what it is along its largest one counts as none.
    """
    return np.linalg.lstsq(X @ B, y, rcond=1e-13)[0]


def head_gradient_steps(X, y, B, w, steps, step_size):
    """`steps` gradient steps on equation (8) in w (Algorithm 1's head updates).

    step_size None is 1 / lambda_max of the Hessian (XB)^T (XB) / m, or no movement at all where
    that eigenvalue is 0.
    """
    m = X.shape[0]
    Z = X @ B
    if step_size is None:
        step_size = _inverse_or_zero(_largest_eigenvalue(Z.T @ Z / m))
    w = np.array(w, dtype=float)
    for _ in range(steps):
        w = w - step_size * (1.0 / m) * Z.T @ (Z @ w - y)
    return w


def client_loss(X, y, B, w):
    """Batch loss, equation (8): (1 / 2m) sum_j (y_j - w^T B^T x_j)^2."""
    m = X.shape[0]
    total = 0.0
    for j in range(m):
        total += (y[j] - w @ B.T @ X[j]) ** 2
    return float(total / (2 * m))


def client_gradient(X, y, B, w):
    """Gradient of equation (8) in B: (1 / m) sum_j (w^T B^T x_j - y_j) x_j w^T, (d, k)."""
    m = X.shape[0]
    gradient = np.zeros(B.shape)
    for j in range(m):
        gradient += (w @ B.T @ X[j] - y[j]) * np.outer(X[j], w)
    return gradient / m


# Algorithm 2.


def round(
    clients,
    B,
    W,
    selected,
    step_size,
    *,
    local_steps=None,
    head_step_size=None,
    normalization="theorem",
    orthonormal=True,
    gradient_clients=None,
):
    """One round of Algorithm 2; returns (B_new, W_new, loss).

    local_steps None takes the exact head of equation (8); a number takes that many gradient steps
    from W[i] (GD-GD at 1). "theorem" averages the client gradients over the selected clients as
    in Algorithm 2 and equation (15); "published" sums them. With `gradient_clients` the gradient
    in B is taken on that second batch. `loss` is the selected clients' mean batch loss at
    (old B, new head), on the batch of the gradient.
    """
    if gradient_clients is None:
        gradient_clients = clients
    B = np.array(B, dtype=float)
    W_new = np.array(W, dtype=float)
    gradient_sum = np.zeros(B.shape)
    loss_sum = 0.0
    for i in selected:
        X, y = clients[i]
        if local_steps is None:
            w = head_least_squares(X, y, B)
        else:
            w = head_gradient_steps(X, y, B, W[i], local_steps, head_step_size)
        W_new[i] = w
        X_gradient, y_gradient = gradient_clients[i]
        gradient_sum += client_gradient(X_gradient, y_gradient, B, w)
        loss_sum += client_loss(X_gradient, y_gradient, B, w)
    if normalization == "theorem":
        B_bar = B - step_size * (1.0 / len(selected)) * gradient_sum
    elif normalization == "published":
        B_bar = B - step_size * gradient_sum
    else:
        raise ValueError(f"unknown normalization {normalization!r}")
    B_new = orthonormalize(B_bar) if orthonormal else B_bar
    return B_new, W_new, loss_sum / len(selected)


def metrics(B, W, B_star, W_star):
    """Distance (10), root mean square head error, and population risk (4).

    The head error compares B w_i with the projection of B* w_i* on span(B), the best model that
    B allows for client i under identity covariance.
    """
    n = W.shape[0]
    B_hat = scipy.linalg.orth(B)
    P = B_hat @ B_hat.T
    head_sum = 0.0
    risk_sum = 0.0
    for i in range(n):
        model = B @ W[i]
        target = B_star @ W_star[i]
        head_sum += np.sum((model - P @ target) ** 2)
        risk_sum += np.sum((model - target) ** 2)
    return {
        "distance": distance(B, B_star),
        "head_error": float(np.sqrt(head_sum / n)),
        "population_risk": float(risk_sum / (2 * n)),
    }


# Starting points.


def moments_matrix(clients):
    """(1 / n) sum_i Z_i, Z_i = (1 / m_i) sum_j (y_j)^2 x_j x_j^T (Algorithm 2, Theorem 2)."""
    n = len(clients)
    d = clients[0][0].shape[1]
    total = np.zeros((d, d))
    for X, y in clients:
        m = X.shape[0]
        Z = np.zeros((d, d))
        for j in range(m):
            Z += y[j] ** 2 * np.outer(X[j], X[j])
        total += Z / m
    return total / n


def moments_start(clients, k):
    """Top-k eigenvectors of the moments matrix, largest first, (d, k) (Theorem 2)."""
    eigenvectors = np.linalg.eigh(moments_matrix(clients))[1]  # eigenvalues ascend
    return eigenvectors[:, ::-1][:, :k].copy()


def projected_gradient_start(clients, k, rounds, step_size):
    """Projected gradient descent on the unfactorized problem, then its SVD (Appendix A.1).

    The objective is sum_i (1 / 2m_i) ||y_i - X_i M_i||^2 over M of rank k, row i of M being
    client i's model. step_size None is 1 / max_i lambda_max(X_i^T X_i / m_i). Returns
    (B, W) = (V_k, U_k S_k) of the last M.
    """
    n = len(clients)
    d = clients[0][0].shape[1]
    if k > min(n, d):
        raise ValueError("k must not exceed min(n, d)")
    if step_size is None:
        largest = 0.0
        for X, _ in clients:
            largest = max(largest, _largest_eigenvalue(X.T @ X / X.shape[0]))
        step_size = _inverse_or_zero(largest)
    M = np.zeros((n, d))
    for _ in range(rounds):
        G = np.zeros((n, d))
        for i in range(n):
            X, y = clients[i]
            G[i] = X.T @ (X @ M[i] - y) / X.shape[0]
        U, S, Vt = np.linalg.svd(M - step_size * G, full_matrices=False)
        M = U[:, :k] @ np.diag(S[:k]) @ Vt[:k]
    U, S, Vt = np.linalg.svd(M, full_matrices=False)
    return Vt[:k].T.copy(), U[:, :k] @ np.diag(S[:k])


# Baselines.


def global_model_round(clients, B, w, selected, step_size, local_steps):
    """One FedAvg round on a single shared (B, w), the model of equation (5).

    Each selected client makes `local_steps` full-batch steps on (8) in B and w at once, both
    gradients taken at the same point; the server averages with equal weights. Returns
    (B, w, loss), `loss` the selected clients' mean batch loss at the incoming (B, w).
    """
    B_sum = np.zeros(B.shape)
    w_sum = np.zeros(w.shape)
    loss_sum = 0.0
    for i in selected:
        X, y = clients[i]
        m = X.shape[0]
        loss_sum += client_loss(X, y, B, w)
        B_i = np.array(B, dtype=float)
        w_i = np.array(w, dtype=float)
        for _ in range(local_steps):
            B_gradient = client_gradient(X, y, B_i, w_i)
            w_gradient = (X @ B_i).T @ (X @ B_i @ w_i - y) / m
            B_i = B_i - step_size * B_gradient
            w_i = w_i - step_size * w_gradient
        B_sum += B_i
        w_sum += w_i
    count = len(selected)
    return B_sum / count, w_sum / count, loss_sum / count


def local_only(clients):
    """Minimum-norm least squares in R^d by each client alone, (n, d) (section 5.1)."""
    rows = []
    for X, y in clients:
        rows.append(np.linalg.lstsq(X, y, rcond=None)[0])
    return np.array(rows)
