from hypothesis import settings

# No deadline: the first example of a kernel compiles it. Derandomized: a red run is red again on the next machine.
settings.register_profile("zermelo", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("zermelo")
