"""What knows no game.

bits      bit operations on 64-bit words
compiler  plain Python functions at machine speed, with a cache that is never stale
errors    one-line errors for people, the parser and the entry point of every command
files     durable writes, locks, leftovers, the cache folder
log       the framed, append-only, checksummed log
pool      worker processes for long jobs over all cores
seeds     seeds with a purpose, and the random generator of kernels
"""
