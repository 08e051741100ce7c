"""What a network and a search make of each move of a game, and which moves gave value away.

python examples/analysis.py connect_four "4 4 4 4 4 2 3 3 5 6" --net connect_four/small --player alphabeta:depth=12
"""

import argparse

import zermelo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("moves", help="by name, separated by blanks")
    parser.add_argument("--net", required=True)
    parser.add_argument("--player", default="alphabeta:depth=10", help="whose values are believed")
    parser.add_argument("--loss", type=float, default=0.3, help="a mistake gives so much utility away")
    options = parser.parse_args()
    game = zermelo.load_game(options.game)
    if game.players != 2:
        raise zermelo.UserError(f"expected a game of two players, got {game.name}")
    net, player = zermelo.load_net(options.net, game), zermelo.load_player(options.player, game)

    print(f"{'ply':>3}  {'move':6}{'policy':>8}{'network':>9}{'search':>8}{'played':>8}  best")
    state = game.initial()
    for ply, name in enumerate(options.moves.split(), 1):
        action, expected, choice = game.action(state, name), net.evaluate(state), player.choose(state)
        after = game.result(state, action)
        mover = game.to_move(state)
        if game.is_terminal(after):
            played = game.utility(after)[mover]
        else:
            reply = player.choose(after).value
            played = reply if game.to_move(after) == mover else -reply
        mark = "  <- gives away" if choice.value - played >= options.loss else ""
        share = expected.policy.get(action, 0.0)
        print(
            f"{ply:>3}  {name:6}{share:>8.1%}{expected.value:>+9.2f}{choice.value:>+8.2f}{played:>+8.2f}"
            f"  {game.name_of(choice.action)}{mark}"
        )
        state = after
    print(game.render(state))


if __name__ == "__main__":
    try:
        main()
    except zermelo.UserError as error:
        raise SystemExit(f"analysis: {error}") from None
