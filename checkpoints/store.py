"""One checkpoint, in and out: `save(folder, net, card)`, `load(path, game)`, and `load_compiled(path, game)` without torch.

Loading refuses, in one line, what does not fit: another game or version, an unknown network, weights that are not the
card's, or of another shape, a damaged file. Weights are numbers and cards are JSON, so nothing of a checkpoint is executed,
with one exception: a network from a file of the user's own brings this file, `net.py`, which is executed where this user
made the checkpoint or has signed it (`trust`).
"""

from __future__ import annotations

import functools
import hashlib
import multiprocessing
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy

from base.errors import UserError
from base.files import StrPath, durable_folder, read_json, write_bytes, write_json
from base.options import split
from base.signing import is_signed, sign
from checkpoints.card import Card
from games import Game
from nets.compiled import CannotCompile, CompiledNet
from nets.names import Precision, compiled_kinds

if TYPE_CHECKING:
    from nets import Inference, Net

Tensors = dict[str, np.ndarray[Any, Any]]

WEIGHTS, CARD, SOURCE = "weights.safetensors", "card.json", "net.py"


def save(folder: StrPath, net: Net, card: Card, *, overwrite: bool = False) -> Path:
    """Write the checkpoint `folder`, durably; it is there whole or not at all. The card gets the hash of the weights.

    A checkpoint that is there already is refused, or with `overwrite` exchanged.
    """
    for what, expected, came in (
        ("net", net.text, card.net),
        ("game", (net.game, net.version), (card.game, card.version)),
    ):
        if expected != came:
            raise UserError(f"{folder}: expected the card's {what} to be the net's, {expected}; got {came}")
    data = weights_of(net)
    with durable_folder(folder, replace=overwrite) as temporary:
        write_bytes(temporary / WEIGHTS, data)
        card = replace(card, weights=hash_of(data), parameters=net.parameter_count, source="", signature="")
        if net.source:
            write_bytes(temporary / SOURCE, net.source)
            card = replace(card, source=hash_of(net.source), signature=_signature(hash_of(net.source)))
        write_json(temporary / CARD, card.to_json())
    return Path(folder)


def weights_of(net: Net) -> bytes:
    """A net's state as safetensors: equal weights give equal bytes, wherever the net is and however it is laid out."""
    import safetensors.torch
    import torch

    tensors = {name: each.detach().to("cpu", torch.float32).contiguous() for name, each in net.state_dict().items()}
    _check_finite("weights", {name: each.numpy() for name, each in tensors.items()})
    return safetensors.torch.save(tensors)


def hash_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Packed:
    """A checkpoint as bytes, which can be sent to where its folder is not."""

    origin: str
    """Where it was, for messages."""
    card: Card
    weights: bytes
    source: bytes = b""
    """The network's own file, where it has one. It is executed."""


def pack(path: StrPath) -> Packed:
    """The checkpoint folder `path`, to send. One that executes what this user neither made nor trusts is refused."""
    packed = _read(path)
    if packed.source and not is_signed(_ABOUT + packed.card.source, packed.card.signature):
        raise UserError(
            f"{path}: expected `python -m checkpoints trust {path}` first, for this user did not make the checkpoint, and its "
            f"network is the code in {SOURCE}"
        )
    return packed


def trust(path: StrPath) -> str:
    """Sign the network's own file in the checkpoint folder `path`, so that it may be executed. In words, what was done."""
    packed = _read(path)
    if not packed.source:
        return f"{path}: executes nothing"
    write_json(Path(path) / CARD, replace(packed.card, signature=_signature(packed.card.source)).to_json())
    return f"{path}: {SOURCE} may be executed, {len(packed.source.splitlines())} lines, {packed.card.source[:19]}…"


_ABOUT = "network "  # a signature of something else is none of a network


def _signature(source: str) -> str:
    return sign(_ABOUT + source)


def _read(path: StrPath) -> Packed:
    path, card = Path(path), read_card(path)
    if not card.source:
        return Packed(str(path), card, (path / WEIGHTS).read_bytes())
    if not (path / SOURCE).is_file():
        raise UserError(f"{path}: expected {SOURCE}, which defines the network, found none")
    source = (path / SOURCE).read_bytes()
    if hash_of(source) != card.source:
        raise UserError(
            f"{path / SOURCE}: expected the card's, {card.source[:19]}…; got another, {hash_of(source)[:19]}…"
        )
    return Packed(str(path), card, (path / WEIGHTS).read_bytes(), source)


def load(path: StrPath, game: Game) -> tuple[Net, Card]:
    """The net in the checkpoint folder `path`, ready to evaluate, on the CPU; and its card."""
    return unpack(pack(path), game)


def unpack(packed: Packed, game: Game) -> tuple[Net, Card]:
    """What `load` gives, of a checkpoint that was sent."""
    import torch

    from nets.net import restored_net

    where, card, tensors = packed.origin, packed.card, _tensors_for(packed, game)
    try:
        # Shapes without memory, for the card may ask for any size. A file of the user's own need not work like that.
        with torch.device("cpu" if packed.source else "meta"):
            _check_shapes(restored_net(card.net, game, packed.source), tensors)
        net = restored_net(card.net, game, packed.source)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    net.load_state_dict({name: torch.tensor(each) for name, each in tensors.items()})
    return net.eval(), card


def load_compiled(path: StrPath, game: Game, precision: Precision = "auto") -> tuple[CompiledNet, Card]:
    """The same net as one compiled kernel for this CPU, without torch. `CannotCompile` where it has no such form: use `load`."""
    return unpack_compiled(pack(path), game, precision)


def unpack_compiled(packed: Packed, game: Game, precision: Precision = "auto") -> tuple[CompiledNet, Card]:
    """What `load_compiled` gives, of a checkpoint that was sent."""
    tensors = _tensors_for(packed, game)
    try:
        return CompiledNet.of(tensors, packed.card.net, game, precision), packed.card
    except UserError as error:
        raise type(error)(f"{packed.origin}: {error}") from None


def read_card(path: StrPath) -> Card:
    """The card of the checkpoint folder `path`."""
    path = Path(path)
    missing = [name for name in (CARD, WEIGHTS) if not (path / name).is_file()]
    if missing:
        raise UserError(f"{path}: expected a checkpoint, a folder with {CARD} and {WEIGHTS}; found no {missing[0]}")
    try:
        card = Card.from_json(read_json(path / CARD))
        if not card.weights:
            raise UserError("weights: expected the hash of the weights, got none")
    except UserError as error:
        where = "" if str(error).startswith(str(path)) else f"{path / CARD}: "
        raise UserError(f"{where}{error}") from None
    return card


def write_card(path: StrPath, card: Card) -> None:
    """Exchange the card of a checkpoint, as when its Elo has been measured; the weights stay what they are."""
    before = read_card(path)
    for name in ("weights", "parameters", "game", "version", "net", "source", "signature"):
        if getattr(card, name) != getattr(before, name):
            raise UserError(
                f"{path}: expected a card with the same {name}, {getattr(before, name)}; got {getattr(card, name)}"
            )
    write_json(Path(path) / CARD, card.to_json())


def verify(path: StrPath, game: Game | None = None) -> Card:
    """Refuse a checkpoint that is not whole: card, hash, format, finite numbers; with `game` given, all that `load` checks."""
    if game is not None:
        return load(path, game)[1]
    packed = _read(path)
    _tensors_of(packed)
    return packed.card


def ready(
    packed: Packed, game: Game, batch: int, device: str = "cpu", precision: Precision = "auto", threads: int = 1
) -> CompiledNet | Inference:
    """The net as a search runs it: compiled on a CPU, else by torch for batches of so many positions on so many threads, which standard
    error notes."""
    if device == "cpu":
        try:
            return unpack_compiled(packed, game, precision)[0]
        except CannotCompile as error:
            _note(f"{str(error).removeprefix(f'{packed.origin}: ')}; torch evaluates it in batches")
    from nets import Inference

    return Inference(unpack(packed, game)[0], batch, device, precision, threads)


@functools.cache  # once in a process, not for each checkpoint of a run
def _note(text: str) -> None:
    if multiprocessing.parent_process() is None:  # nor by each worker
        print(text, file=sys.stderr)


def has_compiled_form(packed: Packed, device: str) -> bool:
    """Whether `ready` can be expected to give a compiled net."""
    return device == "cpu" and split(packed.card.net)[0] in compiled_kinds()


def _tensors_for(packed: Packed, game: Game) -> Tensors:
    """The weights of a checkpoint that must be for `game`."""
    card = packed.card
    if (card.game, card.version) != (game.name, game.version):
        expected, came = f"{game.name} (version {game.version})", f"{card.game} (version {card.version})"
        raise UserError(f"{packed.origin}: expected a net for {expected}, got one for {came}")
    return _tensors_of(packed)


def _tensors_of(packed: Packed) -> Tensors:
    where, data, card = Path(packed.origin) / WEIGHTS, packed.weights, packed.card
    if hash_of(data) != card.weights:
        raise UserError(
            f"{where}: expected the weights of the card, {card.weights[:19]}…; got others, {hash_of(data)[:19]}…: "
            "damaged or exchanged"
        )
    try:
        tensors: Tensors = safetensors.numpy.load(data)
    except Exception as error:  # SafetensorError, and those of numpy about odd types and sizes
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{where}: expected safetensors, got something else: {reason}") from None
    _check_finite(str(where), tensors)
    return tensors


def _check_finite(where: str, tensors: Tensors) -> None:
    for name, tensor in tensors.items():
        if tensor.dtype != np.float32:
            raise UserError(f"{where}: expected float32, got {tensor.dtype} in {name}")
        if not np.isfinite(tensor).all():
            raise UserError(f"{where}: expected finite numbers, got others in {name}")


def _check_shapes(net: Net, tensors: Tensors) -> None:
    """A net of the card's text and the weights have the same tensors."""
    expected: dict[str, Any] = {name: tuple(each.shape) for name, each in net.state_dict().items()}
    came = {name: tuple(each.shape) for name, each in tensors.items()}
    for name in sorted(expected.keys() | came.keys()):
        if expected.get(name) != came.get(name):
            had, got = (f"of shape {each[name]}" if name in each else "none" for each in (expected, came))
            raise UserError(f"weights: expected for {net.text or 'this net'} the tensor {name} {had}, got {got}")
