"""A page in the browser to play and analyse any game: `python -m arena serve [GAME]`. In dependency order:

clicks      from clicks to moves
board       a position as data for the page
choosing    which players and games the page may name
thinking    a search in the background, shown while it runs
tree        the moves of a game, with variations
seeing      what one seat sees of them
judging     exact values, mistakes
shown       what the page is sent of a table
table       one game that is played or analysed
files       games read and written
server      HTTP: what is served, to whom
serve       the command

`files/` holds the page itself: HTML, CSS and ES modules, served as they are.
"""
