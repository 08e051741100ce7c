"""`CompiledNet`: a network's weights in the layout that compiled code reads, and that code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from base.compiler import compiled
from base.errors import UserError
from base.native import address_of, call_native
from games import Game
from nets.compiled.form import CannotCompile, apply_form
from nets.compiled.forward import forward_for
from nets.compiled.instructions import Instructions, choose, has_bf16
from nets.compiled.packing import Packer
from nets.compiled.program import PackedWeights, aligned
from nets.compiled.reference import Reference
from nets.compiled.winograd import WINDOW, Cut, cut_of, prefers_bf16
from nets.folding import Floats, Weights
from nets.names import Precision, choose_precision
from nets.outcome import OutcomeLayout

if TYPE_CHECKING:
    from nets.net import Net

_CHECKED = 2  # positions that a new network is checked with
_TOLERANCE = {"fp32": 1e-3, "bf16": 0.2}
"""Of the difference from the reference, relative to the reference (Euclidean norms). Rounding is far below it, wrong code far above."""


class CompiledNet:
    """A network as it was when this was made, ready to run on this CPU. Threads may share it, each with a scratch of its own."""

    address: int
    """Of the compiled code (`base/native.py`): (weights, scratch, observation, logits, utilities) for one position, observation float32
    [channels, rows, columns], logits float32 [A] over the mover's numbers of the actions, utilities float32 [P] relative to the mover.
    One for each width of the board, cut, precision and instruction set, whatever the network."""
    weights: PackedWeights
    """Its first argument."""

    def __init__(
        self,
        weights: PackedWeights,
        words: int,
        game: Game,
        precision: str,
        instructions: Instructions,
        cut: Cut | None,
    ) -> None:
        """`of` makes one."""
        self.weights, self.precision, self.instructions = weights, precision, instructions.name
        self.observation, self.actions, self.players = game.rules.observation, game.actions, game.players
        self._words = words
        self._spare: list[Floats] = []
        self.address = self._address(cut, instructions, precision == "bf16")
        self._batch = compiled(_evaluate_batch)

    def _address(self, cut: Cut | None, instructions: Instructions, half: bool) -> int:
        key = self.observation[2], cut, instructions, half
        if key not in _addresses:
            answer = np.zeros(self.actions, np.float32), np.zeros(self.players, np.float32)
            arguments = self.weights, self.scratch(), np.zeros(self.observation, np.float32), *answer
            _addresses[key] = address_of(forward_for(*key), *arguments, label="the network")
        return _addresses[key]

    @classmethod
    def of(
        cls,
        weights: Mapping[str, Floats],
        text: str,
        game: Game,
        precision: Precision = "auto",
        instructions: str = "",
    ) -> CompiledNet:
        """The network of that (resolved) text and these weights, by the names of its torch state.

        `auto` is bf16 where the CPU is faster with it, else fp32. `instructions` is one of `nets.compiled.instructions`, by default
        the fastest here. Raises `CannotCompile` where there is no compiled form, or where it computes something else than the
        reference in numpy: then `nets.Inference` is the way.
        """
        chosen = choose(instructions)
        board = game.rules.observation[1:]
        convolves = any(each.shape[2:] == (WINDOW, WINDOW) for each in weights.values())
        cut = cut_of(*board, chosen) if convolves else None
        resolved = choose_precision(precision, prefers_bf16(chosen, cut, *board))
        if resolved == "bf16" and not has_bf16(chosen):
            raise CannotCompile(f"{text}: expected a CPU with avx512_bf16 or AMX for bf16 ({chosen.name} is used here)")
        outcome = OutcomeLayout.of(game.rules)
        if resolved == "bf16":
            cut = None
        packer = Packer(Weights(weights), game.rules, outcome, chosen, resolved == "bf16", cut)
        apply_form(text, packer)
        net = cls(packer.packed(), packer.scratch, game, resolved, chosen, cut)
        net._check(weights, text, outcome)
        return net

    @classmethod
    def of_net(cls, net: Net, game: Game, precision: Precision = "auto", instructions: str = "") -> CompiledNet:
        """The torch network `net` as it is now."""
        weights = {name: each.detach().cpu().float().numpy() for name, each in net.state_dict().items()}
        return cls.of(weights, net.text, game, precision, instructions)

    def scratch(self) -> Floats:
        """Memory for the code to work in: one for each thread, with the zeros that it begins with."""
        return aligned(self._words)

    def __call__(self, observations: Floats, /) -> tuple[Floats, Floats]:
        """Observations float32 [B, channels, rows, columns], any B -> logits [B, A], utilities [B, P] relative to the mover."""
        if observations.shape[1:] != self.observation or observations.dtype != np.float32:
            came = f"{observations.dtype} of shape {observations.shape}"
            expected = f"float32 of shape (any, {', '.join(map(str, self.observation))})"
            raise UserError(f"observations: expected {expected}, got {came}")
        logits = np.empty((len(observations), self.actions), np.float32)
        utilities = np.empty((len(observations), self.players), np.float32)
        try:
            scratch = self._spare.pop()
        except IndexError:  # the others are in use by other threads
            scratch = self.scratch()
        self._batch(self.address, self.weights, scratch, np.require(observations, None, ["C", "W"]), logits, utilities)
        self._spare.append(scratch)
        return logits, utilities

    def _check(self, weights: Mapping[str, Floats], text: str, outcome: OutcomeLayout) -> None:
        """Compare a few positions with the reference: on a CPU that was never tried, wrong code must not go unnoticed."""
        observations = sample(self.observation, _CHECKED)
        reference = Reference(Weights(weights), outcome, observations)
        apply_form(text, reference)
        for what, found, right in zip(
            ("logits", "utilities"), self(observations), (reference.logits, reference.utilities), strict=True
        ):
            error = float(np.linalg.norm(found - right) / max(float(np.linalg.norm(right)), 0.1))
            if not error <= _TOLERANCE[self.precision]:
                raise CannotCompile(
                    f"{text}: expected the {what} of the reference from the compiled network, got others "
                    f"({self.instructions}, {self.precision}, relative error {error:.1e})"
                )


def sample(shape: tuple[int, int, int], count: int) -> Floats:
    """Observations of zeros and ones, always the same; about a third are ones."""
    numbers = np.arange(count * int(np.prod(shape)), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    found: Floats = ((numbers >> np.uint64(40)) % np.uint64(3) == 0).astype(np.float32).reshape(count, *shape)
    return found


_addresses: dict[tuple[int, Cut | None, Instructions, bool], int] = {}


def _evaluate_batch(address: Any, weights: Any, scratch: Any, observations: Any, logits: Any, utilities: Any) -> None:
    for i in range(len(observations)):
        call_native(address, (weights, scratch, observations[i], logits[i], utilities[i]))
