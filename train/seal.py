"""Whether a run's configuration is the one that it began with, and whether this user made the run.

    runs/NAME/seal.json     {"configuration": hash of config.toml, "signature": of that hash, with this user's key, "checksum": …}

A configuration can name code: a game's file, a network's, the command of an engine among the reference players. Who opens such a run
and has not made it must agree to that, with --rules FILE or --trust. A run is this user's own where the signature was made with the key
in this user's cache folder, which no other user can read (`base/signing.py`).
"""

from __future__ import annotations

import hashlib
import os
import shlex
from contextlib import suppress
from pathlib import Path

from arena.players import kinds, options_of
from base.errors import UserError, short
from base.files import read_sealed_json, write_sealed_json
from base.options import split
from base.signing import is_signed, sign
from base.user_code import is_file
from games import builtin_games
from train.config import Config

CONFIGURATION, SEAL = "config.toml", "seal.json"


def hash_of_configuration(folder: Path) -> str:
    return "sha256:" + hashlib.sha256((folder / CONFIGURATION).read_bytes()).hexdigest()


def seal(folder: Path) -> None:
    """The configuration is now what the run began with, and the run this user's own."""
    found = hash_of_configuration(folder)
    signature = sign(found)
    wanted = {"configuration": found, "signature": signature}
    if _sealed(folder) != wanted:
        write_sealed_json(folder / SEAL, wanted)


def check_seal(folder: Path) -> None:
    """Refuse a configuration that was changed after the run began. Runs of older versions have no seal."""
    found = _sealed(folder)
    if found and found["configuration"] != hash_of_configuration(folder):
        raise UserError(
            f"{folder / CONFIGURATION}: expected the configuration that the run began with, but the file was changed; "
            "another --run takes a new one"
        )


def is_own(folder: Path) -> bool:
    """Whether this user made the run, or has trusted it."""
    with suppress(UserError, OSError):
        return is_signed(hash_of_configuration(folder), _sealed(folder).get("signature", ""))
    return False


def check_trust(folder: Path, config: Config, names_rules: bool = False) -> None:
    """Refuse to run code that the configuration of someone else's run names. `names_rules`: the user named the rules, to train."""
    foreign = programs_of(config)
    network = split(config.net)[0]
    if names_rules and is_file(network):
        foreign.append(f"the network in {short(network)}")
    rules = split(config.game)[0]
    if not names_rules and rules not in builtin_games() and os.path.exists(rules):
        foreign.insert(0, f"the rules in {short(rules)}")
    if foreign and not is_own(folder):
        way = "--trust" if names_rules else "--rules FILE with it, or --trust"
        raise UserError(
            f"{folder}: expected {way}, for this user did not make the run, and it would execute {', '.join(foreign)}"
        )


def programs_of(config: Config) -> list[str]:
    """The external programs among the reference players."""
    found = []
    for player in config.evaluation.reference_players:
        kind, options = split(player)
        if kind in kinds() and "command" in options_of(kind).parameters:
            found.append(f"the program {shlex.quote(short(dict(options).get(None, player)))}")
    return found


def _sealed(folder: Path) -> dict[str, str]:
    path = folder / SEAL
    if not path.is_file():
        return {}
    found = read_sealed_json(path)
    if set(found) != {"configuration", "signature"} or not all(isinstance(each, str) for each in found.values()):
        raise UserError(f"{path}: expected the seal of a configuration")
    return found
