"""Classical search: minimax, alpha-beta and its organs, expectiminimax, max^n, linear EVAL, tables, books, solver."""
