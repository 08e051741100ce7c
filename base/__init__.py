"""What knows no game.

errors   one-line errors for people, the parser and the entry point of every command
files    durable writes, locks, leftovers, the cache folder
log      the framed, append-only, checksummed log
pool     worker processes for long jobs over all cores
"""
