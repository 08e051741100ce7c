"""All laws of a game, in the order in which the doctor checks them.

    play       the rules run, in three ways alike, and answer within the contract
    views      how a position appears to networks, tables, EVAL and people
    information  who notices what, in games that hide something
    searches   what searches use beside the rules
    endgames   what endgame tables are built from

A law is a function with a sentence: `@law("…")` above a check that raises a `Breach` (`quick_laws.py`). The quick ones are also checked
before the rules of a file are trusted.
"""

from __future__ import annotations

from games.engine.endgame_laws import endgames_are_numbered, history_draws_no_sooner, predecessors_are_complete
from games.engine.information_laws import (
    information_determines_views,
    movers_notice_their_actions,
    views_suffice,
    worlds_are_resampled,
)
from games.engine.play_laws import (
    actions_are_listed_once,
    can_be_played,
    integers_stay_in_range,
    other_functions_change_nothing,
    probabilities_sum_to_one,
    same_in_three_ways,
    stopped_games_have_utilities,
    utilities_are_declared,
)
from games.engine.quick_laws import Law, games_end, there_is_a_legal_action, utilities_sum_to_zero
from games.engine.search_laws import null_moves_pass, random_actions_are_uniform, tactical_actions_have_a_gain
from games.engine.view_laws import (
    changed_bytes_stay_in_memory,
    features_are_antisymmetric,
    keys_identify_positions,
    names_and_texts_parse_back,
    observations_determine_moves,
    scores_agree_with_utilities,
    symmetries_hold,
)

LAWS: tuple[Law, ...] = (
    can_be_played,
    same_in_three_ways,
    integers_stay_in_range,
    there_is_a_legal_action,
    actions_are_listed_once,
    games_end,
    utilities_sum_to_zero,
    utilities_are_declared,
    stopped_games_have_utilities,
    other_functions_change_nothing,
    probabilities_sum_to_one,
    observations_determine_moves,
    symmetries_hold,
    keys_identify_positions,
    features_are_antisymmetric,
    scores_agree_with_utilities,
    names_and_texts_parse_back,
    changed_bytes_stay_in_memory,
    movers_notice_their_actions,
    information_determines_views,
    views_suffice,
    worlds_are_resampled,
    tactical_actions_have_a_gain,
    random_actions_are_uniform,
    null_moves_pass,
    endgames_are_numbered,
    predecessors_are_complete,
    history_draws_no_sooner,
)
