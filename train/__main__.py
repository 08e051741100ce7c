"""`python -m train GAME`: a training run. Not built yet; this stands in for it."""

import sys

if __name__ == "__main__":
    print("train: training is not there yet", file=sys.stderr)
    sys.exit(2)
