"""Does a setting matter? Trains each value of it with several seeds and draws the curves with the spread of the seeds.

    python examples/ablation.py --key selfplay.simulations --values 8 32 --seeds 3 --games 1024

The runs are runs/ablation_KEY_VALUE_SEED; a second call resumes what is unfinished and draws what is there.
"""

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import zermelo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="tic_tac_toe")
    parser.add_argument("--key", default="selfplay.simulations")
    parser.add_argument("--values", nargs="+", default=["8", "32"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--games", type=int, default=1024)
    parser.add_argument("--metric", default="fresh/top-1")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="what all runs have in common")
    parser.add_argument("--workers", type=int, help="processes that play; 0: this one alone")
    parser.add_argument("--out", default="ablation.png")
    options = parser.parse_args()
    game = zermelo.load_game(options.game)
    common = dict(each.split("=", 1) for each in options.set)

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for value in options.values:
        curves = []
        for seed in range(1, options.seeds + 1):
            changes = common | {"seed": seed, "evaluation.every": 0, options.key: value}
            config = zermelo.configure(game, {key: number(each) for key, each in changes.items()})
            name = f"ablation_{options.key}_{value}_{seed}"
            run = zermelo.train(config, name, games=options.games, workers=options.workers)
            games, values = run.series(options.metric)
            curves.append(values)
            print(f"{options.key}={value}, seed {seed}: {options.metric} {values[-1]:.3f}")
        mean = np.mean(curves, axis=0)
        spread = np.std(curves, axis=0, ddof=1) if len(curves) > 1 else np.zeros_like(mean)
        (line,) = axes.plot(games, mean, label=f"{options.key}={value}")
        axes.fill_between(games, mean - spread, mean + spread, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set(xlabel="self-play games", ylabel=options.metric, title=f"{game.name}, {options.seeds} seeds: mean ± s.d.")
    axes.legend()
    figure.savefig(options.out, dpi=120)
    print(options.out)


def number(text: object) -> object:
    """8 and 0.5 as numbers, anything else as text."""
    for kind in (int, float):
        try:
            return kind(str(text))
        except ValueError:
            pass
    return text


if __name__ == "__main__":
    try:
        main()
    except zermelo.UserError as error:
        raise SystemExit(f"ablation: {error}") from None
