"""Runs inside GNU Backgammon (`gnubg -t -q -r -p FILE`), in its own Python, and answers lines; `arena/engines/gnubg.py` writes them.

ready                                              it says first
0 4HPwATDgc/ABMA …         -> equities 0.067 …     plies and position ids; the equity of the player on roll, in points, without a cube
"""

import os
import sys


def main() -> None:
    import gnubg  # part of that program

    if sys.platform == "linux":
        # gnubg evaluates in a thread of its own and waits for it in steps of 10 ms, where an evaluation takes 20 µs. On one processor,
        # and with the lower priority, this thread finds the other one done. (A new thread inherits processor and priority.)
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[os.getpid() % len(processors)]})
        gnubg.command("set threads 2")
        gnubg.command("set threads 1")
        os.setpriority(os.PRIO_PROCESS, 0, min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5))
    money = gnubg.cubeinfo(1, -1, 0, 0, (0, 0), 0) | {"jacoby": 0, "gammonprice": ((1.0, 1.0), (1.0, 1.0))}

    def equity(position: str, plies: int) -> float:
        """Gammons count twice, backgammons three times."""
        context = {"cubeful": 0, "plies": plies, "deterministic": 1, "noise": 0.0}
        win, win2, win3, lose2, lose3 = gnubg.evaluate(gnubg.positionfromid(position), money, context)[:5]
        found: float = 2 * win - 1 + win2 + win3 - lose2 - lose3
        return found

    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        plies, *positions = line.split()
        print("equities", *(equity(each, int(plies)) for each in positions), flush=True)


if __name__ == "__main__":
    main()
