"""An engine with chosen faults: `python fake_engine.py uci|gtp MODE LOG [MOVE ...]`.

It copies its input to LOG and plays the moves given, one after the other. MODE is what it does instead of a move, or before it: good,
crash, illegal, silent, slow, garbage, noisy, endless, chatty, deaf, stubborn, refuse, resign, once (good, then crash), deep and
certain (numbers of 5,000 digits). From the start on: mute (writes nothing), broken (exits), small (refuses the board). A further
protocol is an entry of ANSWERS.
"""

import os
import signal
import subprocess
import sys
import time

PROTOCOL, MODE, LOG, *MOVES = sys.argv[1:]
OPTIONS = """id name fake 1.0
option name Skill Level type spin default 20 min 0 max 20
option name Ponder type check default false
option name Style type combo default Solid var Solid var Risky Play
option name Clear Hash type button
option name Book File type string default <empty>
uciok"""


def say(text):
    print(text, flush=True)


def misbehave():
    """What comes before the answer, or instead of it."""
    if MODE == "crash" or (MODE == "once" and len(MOVES) == 0):
        print("out of cheese", file=sys.stderr, flush=True)
        os._exit(3)
    elif MODE == "silent":
        time.sleep(600)
    elif MODE == "slow":
        time.sleep(0.3)
    elif MODE == "garbage":
        sys.stdout.buffer.write(b"\xff\xfe\x00 bestmove\n\n   \ninfo score cp\ninfo depth x pv z9z9\n" * 1000)
    elif MODE in ("deep", "certain"):
        number = "9" * 5000
        say(
            f"info depth {number} score cp 1" if MODE == "deep" else f"info depth 1 multipv 3 score cp {number} pv d2d4"
        )
    elif MODE == "noisy":
        sys.stderr.write("trouble " * 100_000)
        sys.stderr.flush()
    elif MODE == "endless":
        while True:
            sys.stdout.write("x" * 65536)
    elif MODE == "chatty":
        while True:
            say("info string still thinking")
    elif MODE == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", LOG])
        time.sleep(600)


def answer_uci(line):
    if line == "uci":
        say(OPTIONS)
    elif line == "isready":
        say("readyok")
    elif line.startswith("go"):
        misbehave()
        if MODE == "illegal":
            say("bestmove e2e5")
            return
        move = MOVES.pop(0)
        say("info depth 3 multipv 2 nodes 30 score mate -2 pv a2a3 a7a6")
        say(f"info depth 4 seldepth 5 multipv 1 score cp 100 nodes 44 pv {move} b8c6 e1e8")
        say("info string score cp 900 pv h2h3")
        say(f"bestmove {move} ponder e7e5")


def answer_gtp(line):
    command = line.split()[0]
    if command == "genmove":
        misbehave()
        move = {"illegal": "Z9", "resign": "resign"}.get(MODE) or MOVES.pop(0)
        say(f"= {move}\n")
    elif MODE == "refuse" and command == "play":
        say("? illegal move\n")
    elif MODE == "small" and command == "boardsize":
        say("? unacceptable size\n")
    elif command == "time_settings":
        say("? unknown command\n")
    else:
        say("= fake\n")


ANSWERS = {"uci": answer_uci, "gtp": answer_gtp}


def main():
    if MODE == "broken":
        sys.exit("no cheese at all")
    if MODE in ("mute", "deaf"):
        time.sleep(600)
    for line in sys.stdin:
        with open(LOG, "a") as log:
            log.write(line)
        if line.strip() == "quit":
            break
        ANSWERS[PROTOCOL](line.strip())


main()
