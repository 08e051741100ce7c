"""Hearts: take no hearts and not the queen of spades, or take them all. Three or four players, thirteen tricks of a full deck.

All cards are dealt; nothing is passed on. The lowest club leads the first trick. Suit has to be followed; the highest card of the suit
led wins the trick and leads the next one. A heart counts 1 point, the queen of spades 13. No point card may be played to the first
trick, and no heart led before one or the queen has been played, unless there is nothing else. Who takes all points has none, and the
others have all of them. Payoffs are the mean of all players' points minus one's own.

`ranks=6` plays with the six highest ranks, A to 9. With three players the lowest diamond, and if need be the lowest club, is left out,
so that all hands are of one size. The rules are those of Pagat's "Hearts" page, without passing.
"""

from typing import Annotated, Literal

import numpy as np

from base.seeds import below
from games import CHANCE, Diagram, Rules
from games.types import Actions, Features, GameState, Planes, Rng

RANKS, SUITS = "23456789TJQKA", "CDHS"
CLUBS, DIAMONDS, HEARTS, SPADES = range(4)
QUEEN_POINTS = 13
SHOWN = (CLUBS, DIAMONDS, SPADES, HEARTS)  # the order of a hand: black and red in turn
VARIANTS = ("players=3,ranks=4",)


def game(players: Literal[3, 4] = 4, ranks: Annotated[int, range(3, 14)] = 13) -> Rules:
    names = [rank + suit for rank in RANKS[-ranks:] for suit in SUITS]  # a card's number: 4 · rank + suit
    CARDS = len(names)
    out = np.array([DIAMONDS, CLUBS][: CARDS % players], np.int64)  # left out: the lowest cards of these suits
    deck = CARDS - len(out)
    each = deck // players
    QUEEN = 4 * (ranks - 3) + SPADES
    FIRST = CLUBS if CARDS % players < 2 else 4 + CLUBS  # the lowest club
    LEADS = CARDS  # actions: chance deals a card, announces who leads; a player plays a card
    DEALT = CARDS + players  # another player gets a card
    all_points = ranks + QUEEN_POINTS
    largest = all_points * (players - 1) / players

    State = np.dtype(
        [
            ("hand", np.uint8, (players, ranks, 4)),  # 1: holds this card
            ("player", np.int8, (ranks, 4)),  # who has played it; -1: not played
            ("table", np.uint8, players),  # cards of this trick, from 1
            ("points", np.uint8, players),
            ("void", np.uint8, (players, 4)),  # has not followed this suit
            ("dealt", np.uint8),  # counts who leads as one more card
            ("played", np.uint8),
            ("leader", np.int8),
            ("broken", np.uint8),
        ]
    )

    def initial(state: GameState) -> None:
        for rank in range(ranks):
            for suit in range(4):
                state.player[rank, suit] = -1
        state.leader = -1

    def on_table(state: GameState) -> int:
        return int(state.played) % players

    def to_move(state: GameState) -> int:
        return CHANCE if state.dealt <= deck else (int(state.leader) + on_table(state)) % players

    def holder(state: GameState, card: int) -> int:
        for player in range(players):
            if state.hand[player, card // 4, card % 4]:
                return player
        return -1

    def is_in_deck(card: int) -> bool:
        return card >= 4 or not (out == card).any()

    def points(card: int) -> int:
        if card == QUEEN:
            return QUEEN_POINTS
        return 1 if card % 4 == HEARTS else 0

    def listed(state: GameState, actions: Actions, suit: int, without_points: bool, without_hearts: bool) -> int:
        """The mover's cards, of one suit unless that is -1."""
        mover, n = to_move(state), 0
        for card in range(CARDS):
            if not state.hand[mover, card // 4, card % 4] or suit not in (-1, card % 4):
                continue
            if (without_points and points(card) > 0) or (without_hearts and card % 4 == HEARTS):
                continue
            actions[n] = card
            n += 1
        return n

    def legal_actions(state: GameState, actions: Actions) -> int:
        n = 0
        if state.dealt < deck:
            for card in range(CARDS):
                if is_in_deck(card) and holder(state, card) < 0:
                    actions[n] = card
                    n += 1
            return n
        if state.dealt == deck:
            actions[0] = LEADS + holder(state, FIRST)
            return 1
        if state.played == 0:
            actions[0] = FIRST
            return 1
        if on_table(state) > 0:
            n = listed(state, actions, (int(state.table[state.leader]) - 1) % 4, False, False)
            if n == 0:
                n = listed(state, actions, -1, state.played < players, False)
        elif state.broken == 0:
            n = listed(state, actions, -1, False, True)
        return n if n > 0 else listed(state, actions, -1, False, False)

    def result(state: GameState, action: int) -> None:
        if state.dealt < deck:
            state.hand[int(state.dealt) % players, action // 4, action % 4] = 1
            state.dealt += 1
            return
        if state.dealt == deck:
            state.leader = action - LEADS
            state.dealt += 1
            return
        mover, card = to_move(state), int(action)
        if on_table(state) > 0 and card % 4 != (int(state.table[state.leader]) - 1) % 4:
            state.void[mover, (int(state.table[state.leader]) - 1) % 4] = 1
        state.hand[mover, card // 4, card % 4] = 0
        state.player[card // 4, card % 4] = mover
        state.table[mover] = card + 1
        state.broken |= points(card) > 0
        state.played += 1
        if on_table(state) == 0:
            take(state)

    def take(state: GameState) -> None:
        """The trick goes to the highest card of the suit led."""
        best, total = int(state.leader), 0
        for player in range(players):
            card, lead = int(state.table[player]) - 1, int(state.table[best]) - 1
            total += points(card)
            if card % 4 == lead % 4 and card > lead:
                best = player
        state.points[best] += total
        state.leader = best
        for player in range(players):
            state.table[player] = 0

    def is_terminal(state: GameState) -> bool:
        return state.played == deck

    def counted(state: GameState, player: int) -> int:
        """Points at the end: all of them taken are none."""
        for other in range(players):
            if state.points[other] == all_points:
                return 0 if other == player else all_points
        return int(state.points[player])

    def utility(state: GameState, player: int) -> float:
        total = 0
        for other in range(players):
            total += counted(state, other)
        return (total / players - counted(state, player)) / largest

    def chance(state: GameState, action: int) -> float:
        return 1.0 if state.dealt == deck else 1 / (deck - int(state.dealt))

    def seen(state: GameState, action: int, player: int) -> int:
        return DEALT if state.dealt < deck and int(state.dealt) % players != player else action

    def resample(view: GameState, player: int, path: Actions, rng: Rng) -> int:
        """The cards that have not been seen go to the others in random order; a trial in which somebody would hold a suit that they
        did not follow, or would have played otherwise by the rules, fails."""
        if view.dealt <= deck:
            return -1
        first, unseen = deck + 1, 0  # unseen cards wait where the moves will stand
        for card in range(CARDS):
            if is_in_deck(card) and view.player[card // 4, card % 4] < 0 and not view.hand[player, card // 4, card % 4]:
                path[first + unseen] = card
                unseen += 1
        for i in range(unseen - 1, 0, -1):
            j = below(rng, i + 1)
            path[first + i], path[first + j] = path[first + j], path[first + i]
        following = first
        for seat in range(players):
            slot = seat
            for card in range(CARDS):
                if seat != player and view.player[card // 4, card % 4] == seat:
                    path[slot] = card
                    slot += players
            while seat != player and slot < deck:
                if view.void[seat, path[following] % 4]:
                    return -1
                path[slot] = path[following]
                slot += players
                following += 1
            for i in range(each - 1, 0, -1):
                if seat != player:
                    one, other = seat + players * i, seat + players * below(rng, i + 1)
                    path[one], path[other] = path[other], path[one]
        for i in range(deck + 1 + view.played):
            if i >= deck or i % players == player:
                path[i] = view.events[player, i]
        return deck + 1 + int(view.played)

    def observe(state: GameState, player: int, planes: Planes) -> None:
        """Cards in the own hand, on the table, and by player from the viewer on: played, and impossible after a suit not followed."""
        for rank in range(ranks):
            for suit in range(4):
                planes[0, rank, suit] = state.hand[player, rank, suit]
                if state.player[rank, suit] >= 0:
                    planes[3 + (int(state.player[rank, suit]) - player) % players, rank, suit] = 1
        for i in range(players):
            seat = (player + i) % players
            if state.table[seat]:
                planes[1, (int(state.table[seat]) - 1) // 4, (int(state.table[seat]) - 1) % 4] = 1
            for suit in range(4):
                planes[3 + players + i, :, suit] = state.void[seat, suit]
            planes[3 + 2 * players + i] = int(state.points[seat]) / all_points
        planes[2] = state.broken

    def features(state: GameState, player: int, values: Features) -> None:
        total = 0
        for other in range(players):
            total += int(state.points[other])
        values[0] = int(state.points[player]) - total / players

    def render(state: GameState) -> str:
        rows = []
        for player in range(players):
            cards = [
                names[4 * rank + suit] for suit in range(4) for rank in range(ranks) if state.hand[player, rank, suit]
            ]
            count = max(min(int(state.dealt), deck) + players - 1 - player, 0) // players
            count -= int(np.count_nonzero(state.player == player))
            table = names[state.table[player] - 1] if state.table[player] else "--"
            held = " ".join(cards) if cards or not count else " ".join("?" * count)
            rows.append(f"player {player}: {table}  {state.points[player]:>2} points  {held}")
        return "\n".join(rows)

    def trick(state: GameState) -> list[int]:
        """The card of each player, from 1: of this trick, or while none is led of the last one."""
        found = [int(card) for card in state.table]
        seat = int(np.argmax(state.event_count))  # of those whose events this view has
        count = int(state.event_count[seat])
        if on_table(state) == 0 and deck + 1 + players <= count == deck + 1 + state.played:
            for card in state.events[seat, count - players : count].tolist():
                if 0 <= card < CARDS and state.player[card // 4, card % 4] >= 0:
                    found[state.player[card // 4, card % 4]] = card + 1
        return found

    def diagram(state: GameState) -> Diagram:
        """The trick; below it the hands, as far as they are known, a played card's place empty."""
        width, top = 2 * players + 1, [""] * (2 * players + 1)
        cells, left, notes = [[""] * width], [""], []
        last = trick(state)
        for player in range(players):
            top[2 * player + 1] = f"player {player}"
            cells[0][2 * player + 1] = f"c{names[last[player] - 1]}" if last[player] else ""
            notes.append(f"player {player}: {state.points[player]} points")
            if (
                state.event_count[player] < state.event_count.max()
            ):  # all notice as much, so this is another player's view
                continue
            own = [4 * rank + suit for suit in SHOWN for rank in range(ranks)]
            own = [card for card in own if state.hand[player].flat[card] or state.player.flat[card] == player]
            slots = [f"c{names[card]}" if state.hand[player].flat[card] else "" for card in own]
            slots += [""] * (each - len(slots))
            rows = -(-each // (width - 2))
            for row in range(rows):
                line = slots[row * (width - 2) : (row + 1) * (width - 2)]
                cells.append(["", *line, *[""] * (width - 1 - len(line))])
                left.append(str(player) if row == 0 else "")
        return Diagram(cells, {"c": "white card"}, "cards", left=left, top=top, note=", ".join(notes))

    return Rules(
        State,
        initial,
        to_move,
        legal_actions,
        result,
        is_terminal,
        utility,
        players=players,
        actions=CARDS + players,
        max_plies=2 * deck + 1,
        max_legal=CARDS,
        values=(),
        payoff_scale=largest,
        chance=chance,
        seen=seen,
        seen_names=["dealt"],
        private=["hand"],
        resample=resample,
        observe=observe,
        observation=(3 + 3 * players, ranks, 4),
        features=features,
        feature_names=["points taken"],
        feature_weights=[-1],
        weight_unit=1 / largest,
        names=[*names, *(f"player-{player}-leads" for player in range(players))],
        render=render,
        diagram=diagram,
    )
