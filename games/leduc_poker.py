"""Leduc poker: a private card, a public card, two rounds of bets. The standard small game of research on poker.

Six cards: J Q K in two suits. Each player antes one chip and gets one card. In each round player 0 begins; one may `call` (or check),
`raise` by 2 chips in the first round and 4 in the second, at most twice per round, or `fold` to a raise. After the first round one card
is laid open. A player whose card pairs with it wins, else the higher rank; equal ranks share the pot. Payoffs are chips.

Southey, Bowling, Larson, Piccione, Burch, Billings and Rayner, "Bayes' bluff: opponent modelling in poker" (2005).
"""

import numpy as np

from games import CHANCE, Diagram, Rules
from games.types import Actions, GameState

FOLD, CALL, RAISE, CARDS = 0, 1, 2, 3  # the actions; cards come last
NAMES = ["Js", "Jh", "Qs", "Qh", "Ks", "Kh"]
DECK = len(NAMES)
DEALT = CARDS + DECK  # the other player gets a card
LARGEST = 13  # chips that can be lost
MAX_RAISES = 2


def game() -> Rules:
    State = np.dtype(
        [
            ("card", np.uint8, 2),  # from 1
            ("public", np.uint8),  # likewise, 0 before it is dealt
            ("paid", np.uint8, 2),
            ("dealt", np.uint8),
            ("mover", np.int8),
            ("turns", np.uint8),  # of this round
            ("raises", np.uint8),  # of this round
            ("end", np.uint8),  # 1: showdown; 2, 3: player 0, 1 folded
        ]
    )

    def initial(state: GameState) -> None:
        state.paid[0], state.paid[1] = 1, 1

    def is_dealing(state: GameState) -> bool:
        return state.dealt < 2 or (state.dealt == 2 and is_round_over(state))

    def is_round_over(state: GameState) -> bool:
        return state.turns >= 2 and state.paid[0] == state.paid[1]

    def to_move(state: GameState) -> int:
        return CHANCE if is_dealing(state) else int(state.mover)

    def legal_actions(state: GameState, actions: Actions) -> int:
        if is_terminal(state):
            return 0
        n = 0
        if is_dealing(state):
            for card in range(1, DECK + 1):
                if state.card[0] != card and state.card[1] != card:
                    actions[n] = CARDS + card - 1
                    n += 1
            return n
        if state.paid[0] != state.paid[1]:
            actions[n] = FOLD
            n += 1
        actions[n] = CALL
        n += 1
        if state.raises < MAX_RAISES:
            actions[n] = RAISE
            n += 1
        return n

    def result(state: GameState, action: int) -> None:
        if is_dealing(state):
            if state.dealt < 2:
                state.card[state.dealt] = action - CARDS + 1
            else:
                state.public = action - CARDS + 1
                state.turns, state.raises, state.mover = 0, 0, 0
            state.dealt += 1
            return
        mover = int(state.mover)
        state.turns += 1
        if action == FOLD:
            state.end = 2 + mover
            return
        state.paid[mover] = state.paid[1 - mover]
        if action == RAISE:
            state.paid[mover] += 2 if state.dealt == 2 else 4
            state.raises += 1
        state.mover = 1 - mover
        if state.dealt == 3 and is_round_over(state):
            state.end = 1

    def is_terminal(state: GameState) -> bool:
        return state.end > 0

    def strength(state: GameState, player: int) -> int:
        rank, shown = (int(state.card[player]) - 1) // 2, (int(state.public) - 1) // 2
        return rank + 3 if rank == shown else rank

    def utility(state: GameState, player: int) -> float:
        lead = int(strength(state, player)) - int(strength(state, 1 - player))
        if state.end != 1:
            lead = -1 if state.end == 2 + player else 1
        return (lead > 0) * int(state.paid[1 - player]) / LARGEST - (lead < 0) * int(state.paid[player]) / LARGEST

    def chance(state: GameState, action: int) -> float:
        return 1 / (DECK - int(state.dealt))

    def seen(state: GameState, action: int, player: int) -> int:
        return DEALT if state.dealt < 2 and state.dealt != player else action

    def render(state: GameState) -> str:
        def card(number: int) -> str:
            return NAMES[number - 1] if number else "?"

        rows = [f"player {each}: {card(state.card[each])}  {state.paid[each]} in the pot" for each in range(2)]
        return "\n".join([*rows, f"open: {card(state.public) if state.public else '-'}"])

    def diagram(state: GameState) -> Diagram:
        """Of each player the card and the chips in the pot; the open card between them."""
        cells = [[""] * 7 for _ in range(2)]
        for player in range(2):
            at, card = 1 + 4 * player, int(state.card[player])
            cells[0][at] = f"c{NAMES[card - 1]}" if card else "b" if player < state.dealt else ""
            cells[1][at] = f"y{state.paid[player]}"
        cells[0][3] = f"c{NAMES[state.public - 1]}" if state.public else ""
        symbols = {"c": "white card", "b": "blue card", "y": "yellow disc"}
        return Diagram(cells, symbols, "cards", top=["", "player 0", "", "open", "", "player 1", ""])

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=2,
        actions=CARDS + DECK,
        max_plies=11,
        max_legal=DECK,
        values=(),
        payoff_scale=LARGEST,
        chance=chance,
        seen=seen,
        seen_names=["dealt"],
        private=["card"],
        owned=["paid"],
        seats=["mover"],
        names=["fold", "call", "raise", *NAMES],
        render=render,
        diagram=diagram,
    )
