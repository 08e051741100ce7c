"""Statistics of self-play games: lengths, outcomes, duplicates, what resigning would have cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from games.record import GameRecord

OPENING = 8


@dataclass(frozen=True)
class Statistics:
    games: int
    plies: int
    """Of all games together, chance's and the opening's included."""
    shortest: int
    longest: int
    full: int
    """Positions searched fully."""
    fast: int
    """Positions searched otherwise."""
    outcomes: dict[tuple[float, ...], int]
    """How many games ended so; each player's utility."""
    unfinished: int
    duplicates: int
    """Games of exactly the moves of another one before them."""
    openings: int
    """Different ones among the first `OPENING` plies of the games."""
    resigned: int
    played_out: int
    """Games in which a player would have resigned, played to their end."""
    wrongly: int
    """Of these, games that the player who would have resigned did not lose."""
    entropy: float
    """Mean of the policy targets, in nats."""
    surprise: float
    """Mean square of the search's expected utilities minus the outcome; NaN where no search expected anything."""

    @classmethod
    def of(cls, records: Sequence[GameRecord]) -> Statistics:
        lengths = [len(record) for record in records]
        full = sum(int(record.searched.sum()) for record in records)
        moves = Counter((record.start, record.moves.tobytes()) for record in records)
        tried = [record.metadata["resigns"] for record in records if isinstance(record.metadata.get("resigns"), dict)]
        return cls(
            games=len(records),
            plies=sum(lengths),
            shortest=min(lengths, default=0),
            longest=max(lengths, default=0),
            full=full,
            fast=searched_positions(records) - full,
            outcomes=dict(sorted(Counter(record.outcome for record in records if record.outcome is not None).items())),
            unfinished=sum(record.outcome is None for record in records),
            duplicates=sum(count - 1 for count in moves.values()),
            openings=len({(record.start, record.moves[:OPENING].tobytes()) for record in records}),
            resigned=sum(record.ending == "resigned" for record in records),
            played_out=len(tried),
            wrongly=sum(bool(each.get("wrong")) for each in tried),
            entropy=_entropy(records),
            surprise=_surprise(records),
        )

    @property
    def length(self) -> float:
        """Mean, in plies."""
        return self.plies / self.games if self.games else 0.0

    def lines(self) -> list[str]:
        """As text."""
        found = [
            f"{self.games} games, {self.plies} plies; lengths {self.shortest} to {self.longest}, mean {self.length:.1f}",
            f"{self.full} positions searched fully, {self.fast} fast; policy targets have {self.entropy:.3f} nats on average",
        ]
        for outcome, count in self.outcomes.items():
            utilities = " ".join(f"{each:+g}" for each in outcome)
            found.append(f"outcome {utilities}: {count} games ({count / self.games:.1%})")
        if self.unfinished:
            found.append(f"unfinished: {self.unfinished}")
        found.append(f"duplicates: {self.duplicates} ({self.duplicates / max(self.games, 1):.1%})")
        found.append(
            f"different openings of {OPENING} plies: {self.openings} ({self.openings / max(self.games, 1):.1%})"
        )
        if not np.isnan(self.surprise):
            found.append(f"the search's value against the outcome: mean square {self.surprise:.3f}")
        if self.resigned or self.played_out:
            rate = f"{self.wrongly / self.played_out:.1%}" if self.played_out else "unknown"
            found.append(
                f"resigned: {self.resigned}; played out as a check: {self.played_out}, of which resigning would have been wrong: {rate}"
            )
        return found


def searched_positions(records: Sequence[GameRecord]) -> int:
    """Positions that a search was made for, full or fast."""
    return sum(int((~np.isnan(record.utilities).any(1)).sum()) for record in records if len(record))


def _entropy(records: Sequence[GameRecord]) -> float:
    total, count = 0.0, 0
    for record in records:
        taught = np.repeat(record.searched, record.policy_counts) == 1
        shares = record.probabilities[taught].astype(np.float64)
        total -= float((shares[shares > 0] * np.log(shares[shares > 0])).sum())
        count += int(record.searched.sum())
    return total / count if count else 0.0


def _surprise(records: Sequence[GameRecord]) -> float:
    errors = [
        np.square(record.utilities[known] - np.array(record.outcome, np.float32)).ravel()
        for record in records
        if record.outcome is not None and (known := ~np.isnan(record.utilities).any(1)).any()
    ]
    return float(np.concatenate(errors).mean()) if errors else float("nan")
