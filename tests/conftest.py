import signal

from hypothesis import settings

# No deadline: the first example of a kernel compiles it. Derandomized: a red run is red again on the next machine.
settings.register_profile("zermelo", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("zermelo")

# A shell that starts the tests in the background has them ignore SIGINT, and so would every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
