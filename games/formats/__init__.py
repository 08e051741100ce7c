"""Standard game files: PGN for chess, SGF for go. `games.record.read_records` reads them beside the project's own.

    for record in read_records("lichess.pgn", load("chess")): ...        # by suffix; a file of millions streams
    print(pgn_of(record, game), end="")                                  # a record as text
    python -m games.formats chess runs/first/games > games.pgn           # what read_records reads, as PGN, SGF or lists of moves

san       chess moves in standard algebraic notation
pgn       files of chess games
sgf       files of go games
words     moves as people type them
broken    games that can't be read
"""
