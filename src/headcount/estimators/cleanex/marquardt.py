"""The method of Levenberg and Marquardt for networks that are fitted to a curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.estimators.cleanex import networks

Floats = NDArray[np.float64]

MOST_STEPS = 20


@dataclass(frozen=True)
class FewClasses:
    """What a fitted curve should be: its values at a few powers k - 1, and their shares.

    Attributes
    ----------
    powers, target : ndarray
        Where the curve is fitted, and to what.
    shares : ndarray
        Of all k, what each of the few stands for.
    weights : ndarray
        Of the probes.
    """

    powers: Floats
    target: Floats
    shares: Floats
    weights: Floats


class Marquardt:
    """Levenberg and Marquardt's method for one network."""

    def __init__(
        self, rows: Any, parameters: list[Any], goal: FewClasses, tolerance: float
    ) -> None:
        torch = networks.torch_module()

        def on_device(values: Floats) -> Any:
            return torch.as_tensor(values.astype(np.float32), device=rows.device)

        self.rows, self.parameters, self.tolerance = rows, parameters, tolerance
        self.powers, self.weights = on_device(goal.powers), on_device(goal.weights)
        self.target, self.roots = on_device(goal.target), on_device(np.sqrt(goal.shares))
        self.evaluate()

    def run(self) -> int:
        """Fit until the curve is close enough or no step helps; return how many steps it took."""
        damping = 1e-2
        for step in range(MOST_STEPS):
            if self.loss <= self.tolerance**2:
                return step
            jacobian = self.jacobian()
            tried = self._step(jacobian, damping)
            if tried is None:
                return step
            damping = max(tried / 3, 1e-10)
        return MOST_STEPS

    def _step(self, jacobian: Any, damping: float) -> float | None:
        """Move to where the loss is lower and return the damping it took; None if nowhere."""
        torch = networks.torch_module()
        host = jacobian.cpu().double().numpy()
        matrix, residual = host @ host.T, self.residual.cpu().double().numpy()
        scale, loss = float(np.trace(matrix)) / len(matrix), self.loss
        while scale > 0 and damping < 1e8:
            pull = np.linalg.solve(matrix + damping * scale * np.eye(len(matrix)), residual)
            change = torch.as_tensor(pull.astype(np.float32), device=jacobian.device) @ jacobian
            self.move(change, -1.0)
            if self.loss < loss:
                return damping
            self.move(change, 1.0)
            damping *= 5
        return None

    def move(self, change: Any, factor: float) -> None:
        """Add a multiple of a change to the parameters, which it holds one after the other."""
        start = 0
        for parameter in self.parameters:
            parameter.add_(
                change[start : start + parameter.numel()].view_as(parameter), alpha=factor
            )
            start += parameter.numel()
        self.evaluate()

    def evaluate(self) -> None:
        """Compute what the network says and how far its curve is from the target."""
        torch = networks.torch_module()
        self.signals = [self.rows]
        for weight, bias in zip(self.parameters[:-2:2], self.parameters[1:-2:2], strict=True):
            self.signals.append(torch.addmm(bias, self.signals[-1], weight).relu_())
        self.logit = torch.addmm(self.parameters[-1], self.signals[-1], self.parameters[-2])[:, 0]
        self.log_chance = torch.nn.functional.logsigmoid(self.logit)
        self.raised = torch.exp(self.log_chance[:, None] * self.powers)
        self.residual = (self.weights @ self.raised - self.target) * self.roots
        self.loss = float(self.residual.square().sum())

    def jacobian(self) -> Any:
        """Return the derivatives of each residual by all parameters, one row a residual."""
        torch = networks.torch_module()
        by_logit = self.raised * (self.powers * self.roots) * torch.sigmoid(-self.logit)[:, None]
        by_logit *= self.weights[:, None]
        active = [signal > 0 for signal in self.signals]
        rows = []
        for slope in by_logit.T:
            parts, delta = [], slope[:, None]
            for layer in reversed(range(len(self.signals))):
                parts += [delta.sum(dim=0), (self.signals[layer].T @ delta).ravel()]
                if layer:
                    delta = (delta @ self.parameters[2 * layer].T).mul_(active[layer])
            rows.append(torch.cat(parts[::-1]))
        return torch.stack(rows)
