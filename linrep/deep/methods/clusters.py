"""Methods that find groups of like clients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.spatial.distance import squareform

from linrep.deep.methods.base import FedAvg, count
from linrep.deep.state import State, scatter
from linrep.deep.training import setting

#: Differences of cosines of updates in single precision that are rounding.
_SAME = 1e-6


@dataclass(frozen=True)
class CFL(FedAvg):
    """Clustered federated learning (Sattler, Müller, Samek, 2021).

    Each cluster has a model, the mean of its participants'. Where the clients' last updates have a
    mean shorter than `eps1` while one of them is longer than `eps2`, the cluster is cut in two so
    that the largest cosine between the parts is least (single linkage). The cosine of an update of
    zero with any other is 0; three clients or more whose cosines are all the same stay together.

    The paper has all clients in each round; here a cluster is cut once all of its clients have
    taken part in it. The authors' public code differs in two points: it cuts by complete linkage,
    and neither clusters of two clients nor any in the first twenty rounds.

    Attributes
    ----------
    eps1, eps2 : float
        0.4 and 1.6 in the authors' code.
    """

    eps1: float = setting(0.4, minimum=0.0)
    eps2: float = setting(1.6, minimum=0.0)

    def start(self, federation):
        """Return a state with one cluster, and no updates (NaN)."""
        state = federation.start(all_personal=True)
        shape = (len(federation.seeds), federation.n)
        size = sum(state.personal[name][0, 0].numel() for name in federation.parameters)
        device = federation.device
        state.extra["cluster"] = torch.zeros(shape, dtype=torch.int64, device=device)
        state.extra["update"] = torch.full((*shape, size), torch.nan, device=device)
        return state

    def round(self, federation, state: State, clients):
        """Train, average within clusters, and cut those that pull apart."""
        for part in federation.parts(clients):
            own = state.own(part)
            new = federation.train({}, own, part, self.phases(), round=state.round)
            moved = [(new[k] - own[k]).flatten(2) for k in federation.parameters]
            update = torch.cat(moved, dim=2).to(state.extra["update"])
            scatter({"update": state.extra["update"]}, part, {"update": update})
            scatter(state.personal, part, new)
        weights = self.weights(federation, clients)
        for s, taking_part in enumerate(clients):
            cluster, update = state.extra["cluster"][s], state.extra["update"][s]
            chosen = torch.as_tensor(taking_part, device=federation.device)
            for number in cluster[chosen].unique().tolist():
                members, present = cluster == number, cluster[chosen] == number
                share = weights[s][present] / weights[s][present].sum()
                for value in state.personal.values():
                    mean = torch.tensordot(share.to(value), value[s][chosen[present]], dims=1)
                    value[s][members] = mean
                self._cut(cluster, update, members)
        state.round += 1

    def _cut(self, cluster, update, members):
        """Cut a cluster in two if its clients' updates ask for it; both forget them."""
        own = update[members]
        if len(own) < 2 or not torch.isfinite(own).all():
            return
        if own.mean(0).norm() >= self.eps1 or own.norm(dim=1).max() <= self.eps2:
            return
        second = _second_part(own.cpu().double().numpy())
        if not second:
            return
        cluster[members.nonzero()[:, 0][second]] = int(cluster.max()) + 1
        update[members] = torch.nan

    def floats(self, state):
        """Return the numbers of a model, that of the client's cluster."""
        return count(state.personal, axes=2)


def _second_part(updates):
    """Return the places of one of the parts into which updates (c, size) are cut, if they are."""
    norms = np.linalg.norm(updates, axis=1, keepdims=True)
    unit = np.divide(updates, norms, out=np.zeros_like(updates), where=norms > 0)
    away = 1.0 - unit @ unit.T
    np.fill_diagonal(away, 0.0)
    distances = squareform(away, checks=False)
    if len(distances) > 1 and np.ptp(distances) <= _SAME:
        return []
    # What single linkage joins last; a tie there leaves two parts, too.
    return to_tree(linkage(distances, method="single")).get_right().pre_order()
