"""Classical search: minimax, alpha-beta and its enhancements, expectiminimax, max^n, linear EVAL, tables, books, solver."""
