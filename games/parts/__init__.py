"""Parts of games whose rules fill more than one file. A game is a file of `games/` with a function `game`; these are not."""
