"""The checkpoint store: save, load, latest, best, cards; and the released nets themselves.

>>> path = save(folder_of("runs/first", step=4000), net, Card(game.name, game.version, net.text, step=4000))
>>> net, card = load(resolve("first", game), game)     # a run's name means its newest checkpoint
>>> net, card = load_compiled(resolve("first", game), game)     # the same as a compiled kernel, without torch

A checkpoint is a folder that is there whole or not at all: `weights.safetensors`, the same bytes for the same weights, and `card.json`:
the game and network that the weights fit, and how they were made. Both are data: reading them executes nothing.
"""

import base  # first: Ctrl-C during the other imports
from checkpoints.card import Card, Elo, commit
from checkpoints.folders import all_of, best, called, folder_of, keep_every, latest, newest_whole, resolve, text_of
from checkpoints.store import (
    Packed,
    has_compiled_form,
    load,
    load_compiled,
    pack,
    read_card,
    ready,
    save,
    unpack,
    unpack_compiled,
    verify,
    write_card,
)

__all__ = [
    "Card",
    "Elo",
    "Packed",
    "all_of",
    "best",
    "called",
    "commit",
    "folder_of",
    "has_compiled_form",
    "keep_every",
    "latest",
    "load",
    "load_compiled",
    "newest_whole",
    "pack",
    "read_card",
    "ready",
    "resolve",
    "save",
    "text_of",
    "unpack",
    "unpack_compiled",
    "verify",
    "write_card",
]
