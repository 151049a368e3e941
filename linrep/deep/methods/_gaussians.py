"""Gaussian features: class means, a covariance of all classes, and the classifier that follows."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

#: Mixtures of a client's Gaussian features with the server's, of which the best is taken.
_BETAS = torch.linspace(0.0, 1.0, 11)
#: Class means of so few samples are the server's, as in pFedFDA's public code.
_TOO_FEW = 2

#: Class means (..., classes, k) and covariance (..., k, k).
Gaussians = tuple[Tensor, Tensor]


def class_means(x: Tensor, y: Tensor, otherwise: Tensor, too_few: int = 0) -> Tensor:
    """Return the means of features by class, (classes, k)."""
    members = F.one_hot(y, len(otherwise)).to(x)
    counts = members.sum(0)[:, None]
    return torch.where(counts > too_few, (members.T @ x) / counts.clamp(min=1.0), otherwise)


def fitted(x: Tensor, y: Tensor, means: Tensor) -> Gaussians:
    """Return class means, and the covariance around them plus the identity."""
    own = class_means(x, y, means, _TOO_FEW)
    away = x - own[y]
    return own, away.T @ away / max(1, len(x) - 1) + torch.eye(x.shape[1]).to(x)


def discriminant(gaussians: Gaussians, prior: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Return weight (..., classes, k) and bias (..., classes) of linear discriminant analysis."""
    means, covariance = gaussians
    identity = torch.eye(covariance.shape[-1]).to(covariance)
    level = covariance.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None]
    shrunk = (1.0 - eps) * covariance + eps * level * identity
    weight = torch.linalg.solve(shrunk, means.mT).mT
    return weight, prior.log() - 0.5 * (means * weight).sum(-1)


def mixed(x: Tensor, y: Tensor, server: Gaussians, prior: Tensor, eps: float) -> Gaussians:
    """Return β times the Gaussians of features plus 1 - β times the server's, for the best β.

    That is the one of least loss in a two-fold cross-validation, among samples of classes that
    have two at least; without such samples it is 0.
    """
    seen = (torch.bincount(y, minlength=len(prior)) > 1)[y].nonzero()[:, 0]
    if not len(seen):
        return server
    order = seen[torch.argsort(y[seen], stable=True)]  # every other sample of each class
    folds = ((order[0::2], order[1::2]), (order[1::2], order[0::2]))
    losses = sum(
        _losses(mixtures(fitted(x[fit], y[fit], server[0]), server), x[rest], y[rest], prior, eps)
        for fit, rest in folds
    )
    means, covariance = mixtures(fitted(x, y, server[0]), server)
    best = losses.argmin()
    return means[best], covariance[best]


def mixtures(own: Gaussians, server: Gaussians) -> Gaussians:
    """Return the mixtures for all β, (eleven, ...)."""
    betas = _BETAS.to(own[0])[:, None, None]
    means, covariance = (betas * a + (1.0 - betas) * b for a, b in zip(own, server, strict=True))
    return means, covariance


def _losses(gaussians, x, y, prior, eps):
    """Return the mean losses of several Gaussians' classifiers."""
    weight, bias = discriminant(gaussians, prior, eps)
    outputs = x @ weight.mT + bias.unsqueeze(-2)
    labels = y.expand(len(outputs), -1)
    return F.cross_entropy(outputs.mT, labels, reduction="none").mean(1)
