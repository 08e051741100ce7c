"""Kuhn poker: one card each, one bet. The smallest game of poker, with two players solved by hand in 1950.

Each player antes one chip and gets one card, of J Q K for two players, T J Q K for three. In turn they `pass` or `bet` one chip. After
a bet each of the others decides once, `bet` to call it or `pass` to fold; then the highest card of those who bet wins the pot. If all
pass, the highest card of all wins. Payoffs are chips. With best play the first of two players loses 1/18 of a chip per game.

H. W. Kuhn, "A simplified two-person poker" (1950); three players: Szafron, Gibson and Sturtevant (2013).
"""

from typing import Literal

import numpy as np

from games import CHANCE, Diagram, Rules
from games.types import Actions, GameState

PASS, BET, CARDS = 0, 1, 2  # the actions; a card's number, from 1, is added to the last one less 1
VARIANTS = ("players=3",)


def game(players: Literal[2, 3] = 2) -> Rules:
    names = ["J", "Q", "K"] if players == 2 else ["T", "J", "Q", "K"]
    cards = players + 1
    actions = CARDS + cards
    DEALT = actions  # another player gets a card
    largest = 2 * (players - 1)

    State = np.dtype(
        [
            ("card", np.uint8, players),  # 1 is the lowest
            ("bet", np.uint8, players),  # chips put in after the ante
            ("dealt", np.uint8),
            ("turns", np.uint8),
            ("first", np.uint8),  # turns played when the first bet was made, itself included; 0: none
        ]
    )

    def initial(state: GameState) -> None:
        pass

    def to_move(state: GameState) -> int:
        return CHANCE if state.dealt < players else int(state.turns) % players

    def legal_actions(state: GameState, actions: Actions) -> int:
        if state.dealt == players:
            actions[0], actions[1] = PASS, BET
            return 0 if is_terminal(state) else 2
        n = 0
        for card in range(1, cards + 1):
            is_free = True
            for player in range(players):
                is_free &= state.card[player] != card
            if is_free:
                actions[n] = CARDS + card - 1
                n += 1
        return n

    def result(state: GameState, action: int) -> None:
        if state.dealt < players:
            state.card[state.dealt] = action - CARDS + 1
            state.dealt += 1
            return
        player = int(state.turns) % players
        state.turns += 1
        if action == BET:
            state.bet[player] = 1
            if state.first == 0:
                state.first = state.turns

    def is_terminal(state: GameState) -> bool:
        return state.turns == (players if state.first == 0 else int(state.first) + players - 1)

    def utility(state: GameState, player: int) -> float:
        best, pot = -1, int(players)
        for each in range(players):
            pot += int(state.bet[each])
            if state.first == 0 or state.bet[each]:
                best = each if best < 0 or state.card[each] > state.card[best] else best
        won = pot if player == best else 0
        return (won - 1 - int(state.bet[player])) / largest

    def chance(state: GameState, action: int) -> float:
        return 1 / (cards - int(state.dealt))

    def seen(state: GameState, action: int, player: int) -> int:
        return DEALT if state.dealt < players and state.dealt != player else action

    def render(state: GameState) -> str:
        lines = []
        for player in range(players):
            card = names[state.card[player] - 1] if state.card[player] else "?" if player < state.dealt else "-"
            lines.append(f"player {player}: {card}  {1 + int(state.bet[player])} in the pot")
        return "\n".join(lines)

    def diagram(state: GameState) -> Diagram:
        """Of each player the card and the chips in the pot."""
        cells, top = [[""] * (2 * players + 1) for _ in range(2)], [""] * (2 * players + 1)
        for player in range(players):
            at, card = 2 * player + 1, int(state.card[player])
            top[at] = f"player {player}"
            cells[0][at] = f"c{names[card - 1]}" if card else "b" if player < state.dealt else ""
            cells[1][at] = f"y{1 + int(state.bet[player])}"
        return Diagram(cells, {"c": "white card", "b": "blue card", "y": "yellow disc"}, "cards", top=top)

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=players,
        actions=actions,
        max_plies=players + 2 * players - 1,
        max_legal=cards,
        values=(-1, -0.5, 0.5, 1) if players == 2 else (-0.5, -0.25, 0.5, 0.75, 1),
        payoff_scale=largest,
        chance=chance,
        seen=seen,
        seen_names=["dealt"],
        private=["card"],
        owned=["bet"],
        names=["pass", "bet", *names],
        render=render,
        diagram=diagram,
    )
