"""Steps of training by torch.func: many copies of a network at once, and one after the other."""

import torch
from torch.func import functional_call, grad, stack_module_state, vmap


def stacked(models):
    """Return parameters and buffers of several networks, stacked, as plain tensors."""
    parameters, buffers = stack_module_state(models)
    return {name: value.detach() for name, value in parameters.items()}, buffers


def gradient(model):
    """Return a function of (parameters, buffers, inputs, weights): gradients and new buffers.

    The loss is the sum of the outputs times the weights.
    """

    def loss(parameters, buffers, inputs, weights):
        state = {**parameters, **buffers}
        output = functional_call(model, state, inputs)
        return (output * weights).sum(), {name: state[name] for name in buffers}

    return grad(loss, has_aux=True)


def part(tree, place):
    """Return one network's share of stacked tensors, in dicts or tuples."""
    if isinstance(tree, dict):
        return {name: value[place] for name, value in tree.items()}
    return tuple(value[place] for value in tree) if isinstance(tree, tuple) else tree[place]


def assert_vmap_is_loop(model, parameters, buffers, inputs, weights, error):
    """Compare gradients and buffers of all networks at once with those of each alone.

    The error is relative to a network's largest gradient, since small ones, such as those of biases
    before a normalization, are what is left of large terms that cancel.
    """
    together = vmap(gradient(model))(parameters, buffers, inputs, weights)
    for place in range(len(weights)):
        alone = gradient(model)(
            *(part(tree, place) for tree in (parameters, buffers, inputs, weights))
        )
        for one, all_of_them in zip(alone, together, strict=True):
            assert one.keys() == all_of_them.keys()
            scale = max([1.0, *(float(value.abs().max()) for value in one.values())])
            for name, value in one.items():
                torch.testing.assert_close(
                    all_of_them[name][place], value, rtol=error, atol=error * scale, msg=name
                )
