"""The search does what it did: a commit that changes it says so, with `python -m benchmarks.signature --write`."""

from base.files import read_json
from benchmarks.signature import STORED, signature


def test_the_searchs_signature_is_the_stored_one_twice() -> None:
    assert [signature(), signature()] == [read_json(STORED)["signature"]] * 2
