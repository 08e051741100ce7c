"""A coordinator and its nodes: every job once, whatever happens to nodes; equal bits or a refusal. tests/test_ray.py runs it on Ray."""

import contextlib
import multiprocessing
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cluster_nodes import HereNodes
from cluster_tasks import (
    Squares,
    double,
    fail_at_three,
    kill_self_at_two,
    no_net_here,
    sleep_then_number,
    sleep_then_pid,
    square,
)
from miniature import TINY, run, weights
from test_arrows import LAYERS

from base.errors import Arguments, UserError
from base.workers import Calls, InProcess, WorkerDied
from checkpoints import Card, pack, save
from cluster import fingerprint as fingerprints
from cluster.coordinator import Coordinator, Patience
from cluster.fingerprint import CODE, PACKAGES, differences, environment, fingerprint, hash_of_code, take_over
from cluster.folder import FolderNodes, own_folder, serve, sessions
from cluster.leases import FACTOR, MEASURED, Leases
from cluster.links import Inbox, Lost
from cluster.node import POLL, Node, Order, Reply, hash_of
from cluster.options import add_workers, opened_workers
from games import load
from games.record import read_records
from mcts.puct import PUCT
from monitor.history import METRICS, History
from monitor.metrics import documented
from nets import make_net
from selfplay.settings import SelfPlaySettings
from selfplay.workers import Setup, play_games

GAME = load("tic_tac_toe")
SHORT = Patience(silence=2 * POLL, lease=0.2, first=60, notice=60)
"""Wrongly taken for lost, a node costs work twice, and no result."""


@contextlib.contextmanager
def cluster(count: int = 2, workers: int = 1, **settings: Any) -> Iterator[tuple[Coordinator, HereNodes, list[str]]]:
    """A coordinator, its nodes, and the lines that it reports."""
    said: list[str] = []
    nodes = HereNodes(count, workers)
    with Coordinator(nodes, report=said.append, **{"patience": SHORT, **settings}) as coordinator:
        yield coordinator, nodes, said
    assert multiprocessing.active_children() == []


def squares(count: int) -> list[tuple[int, int]]:
    return [(number, number * number) for number in range(count)]


# ── as any workers ──


@pytest.mark.parametrize("ordered", [False, True])
def test_every_job_is_answered_once_under_its_number(ordered: bool) -> None:
    with cluster() as (workers, _, _):
        for count in (100, 0, 3):
            results = list(workers.run(Calls(square), iter(range(count)), ordered=ordered))
            assert sorted(results) == squares(count)
            assert not ordered or results == sorted(results)


def test_processes_of_nodes_stay_between_runs_and_a_task_begins_anew() -> None:
    with cluster() as (workers, nodes, _):
        found = [set(dict(workers.run(Calls(sleep_then_pid), [0.2, 0.2])).values()) for _ in range(2)]
        assert found[1] <= found[0] and len(found[0]) == 2
        assert list(workers.run(Calls(square), [5])) == [(0, 25)] and nodes.shared == 3


def test_a_task_is_sent_once_for_a_run_and_never_without_a_job() -> None:
    with cluster() as (workers, nodes, _):
        assert list(workers.run(Calls(square), [])) == [] and nodes.shared == 0
        assert len(list(workers.run(Calls(square), range(50)))) == 50 and nodes.shared == 1


def test_a_task_that_was_changed_on_its_way_is_refused_by_the_node() -> None:
    node = Node(1)
    with pytest.raises(ValueError, match="expected a task with hash"):
        node.exchange(Order(1, hash_of(b"one")), b"another")
    with pytest.raises(ValueError, match="expected an order for the run under way, got one for run 2"):
        node.exchange(Order(2))
    node.close()


def test_jobs_are_taken_only_as_they_are_needed() -> None:
    taken = yielded = most = 0

    def jobs() -> Iterator[tuple[int, float]]:
        nonlocal taken
        while True:  # as good as endless
            taken += 1
            yield taken, 0.1

    with cluster() as (workers, _, _), contextlib.closing(workers.run(Calls(sleep_then_number), jobs())) as results:
        for _ in results:
            yielded += 1
            most = max(most, taken - yielded)
            if yielded == 20:
                break
    assert most < 40


def test_large_jobs_and_results_pass() -> None:
    with cluster() as (workers, _, _):
        jobs = [bytes([number]) * 1_000_000 for number in range(12)]
        assert dict(workers.run(Calls(double), jobs)) == {number: job * 2 for number, job in enumerate(jobs)}


def test_what_a_job_raises_is_raised_by_the_run_with_its_node_and_stops_the_others() -> None:
    with cluster() as (workers, _, _):
        with pytest.raises(LookupError, match="three is not allowed") as caught:
            list(workers.run(Calls(fail_at_three), range(100)))
        notes = "".join(caught.value.__notes__)
        assert "in fail_at_three" in notes and "in a job on node node" in notes
        assert sorted(workers.run(Calls(square), range(5))) == squares(5)
        with pytest.raises(LookupError, match="no net here"):
            list(workers.run(Calls(square, no_net_here), range(3)))


def test_one_run_at_a_time_and_a_run_that_is_given_up_leaves_nothing_at_work() -> None:
    with cluster() as (workers, _, _):
        first = workers.run(Calls(sleep_then_number), [(0, 0.0), (1, 60.0), (2, 60.0)])
        assert next(first) == (0, 0)
        with pytest.raises(RuntimeError, match="expected the run before to be over"):
            next(workers.run(Calls(square), range(9)))
        first.close()
        until = time.monotonic() + 30
        while multiprocessing.active_children() and time.monotonic() < until:
            time.sleep(0.05)
        assert multiprocessing.active_children() == []
        assert sorted(workers.run(Calls(square), range(9))) == squares(9)


def test_a_worker_process_that_dies_is_replaced_and_its_jobs_are_given_again() -> None:
    with cluster(count=1) as (workers, _, said):
        results = workers.run(Calls(sleep_then_number), [(number, 0.3) for number in range(6)])
        found = [next(results)]
        multiprocessing.active_children()[0].kill()
        found += results
        assert sorted(found) == [(number, number) for number in range(6)]
        assert any("was killed by SIGKILL" in line and "given again" in line for line in said)


def test_a_job_that_kills_each_of_its_workers_ends_the_run() -> None:
    with (
        cluster() as (workers, _, _),
        pytest.raises(WorkerDied, match=r"node node\d: worker was killed by SIGKILL .*, as 2"),
    ):
        list(workers.run(Calls(kill_self_at_two), range(20)))


# ── nodes that fail ──


def when(count: int, call: Callable[[], object], results: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """All results; `call` is called after so many."""
    found = []
    for result in results:
        found.append(result)
        if len(found) == count:
            call()
    return found


@pytest.mark.parametrize("ordered", [False, True])
def test_a_killed_node_loses_and_doubles_nothing(ordered: bool) -> None:
    with cluster() as (workers, nodes, said):
        results = workers.run(Squares(0.02), range(60), ordered=ordered)
        assert sorted(when(10, nodes.links[0].kill, results)) == squares(60)
        assert "node node0 is lost: killed; others do its jobs" in said


def test_a_stopped_node_which_nothing_reports_is_noticed_and_what_it_answers_later_is_compared() -> None:
    with cluster(audit=0.0, patience=replace(SHORT, lease=600)) as (workers, nodes, said):
        results = workers.run(Squares(0.05), range(150))
        assert sorted(when(6, nodes.links[0].stop, results)) == squares(150)
        assert "node node0 does not answer; others do its jobs, too" in said
        nodes.links[0].proceed()
        assert sorted(workers.run(Squares(0.05), range(60))) == squares(60)
        assert "node node0 answers again" in said and workers.metrics()["cluster/leases expired"] > 0


def test_a_node_that_returns_within_the_run_continues_and_its_late_results_are_duplicates() -> None:
    with cluster(audit=0.0) as (workers, nodes, said):

        def stop() -> None:
            nodes.links[0].stop()
            threading.Thread(target=come_back).start()

        def come_back() -> None:
            while not any("does not answer" in line for line in said):
                time.sleep(0.01)
            nodes.links[0].proceed()

        results = workers.run(Squares(0.05), range(200))
        assert sorted(when(10, stop, results)) == squares(200)
        assert "node node0 answers again" in said


def test_a_node_that_joins_late_takes_jobs() -> None:
    with cluster(count=1) as (workers, nodes, said):
        found = when(5, nodes.add, workers.run(Squares(0.05), range(120)))
        assert sorted(found) == squares(120)
        assert "node node1 joins with 1 worker" in said and nodes.links[1].answers > 0


def test_the_last_node_is_killed_and_another_one_comes() -> None:
    with cluster(count=1) as (workers, nodes, _):

        def exchange() -> None:
            nodes.links[0].kill()
            threading.Timer(0.3, nodes.add).start()

        assert sorted(when(3, exchange, workers.run(Squares(0.02), range(30)))) == squares(30)


def test_a_run_ends_where_the_last_node_cannot_do_the_task_and_would_fail_again() -> None:
    with cluster(count=1) as (workers, nodes, _):

        def fail() -> None:
            nodes.links[0].close()
            workers.inbox.put(Lost(nodes.links[0], "No module named 'mine'", is_for_good=True))

        with pytest.raises(WorkerDied, match="node node0, the last one: No module named 'mine'"):
            when(2, fail, workers.run(Squares(0.02), range(30)))


def test_idle_nodes_take_the_oldest_jobs_of_a_slow_one() -> None:
    with cluster(patience=replace(SHORT, silence=600, lease=600), audit=0.0) as (workers, nodes, _):
        nodes.links[0].delay = 0.2
        results = workers.run(Squares(0.01), range(20))
        found = when(16, nodes.links[0].stop, results)  # the last ones are there, and no lease expires
        assert sorted(found) == squares(20)
        nodes.links[0].proceed()


def test_kills_and_stops_at_any_moment_lose_and_double_nothing() -> None:
    with cluster(count=3) as (workers, nodes, _):

        def disturb() -> None:
            for k in range(8):
                time.sleep(0.15)
                link = nodes.links[-1 - k % 2]
                if k % 2:
                    link.kill()
                    nodes.add()
                else:
                    link.stop()
                    threading.Timer(0.7, link.proceed).start()

        thread = threading.Thread(target=disturb)
        thread.start()
        for _ in range(3):
            assert sorted(workers.run(Squares(0.01), range(150))) == squares(150)
        thread.join()


def test_time_that_the_caller_takes_is_not_counted_as_silence() -> None:
    with cluster() as (workers, _, _):
        clocks = [time.monotonic(), workers.now()]
        when(3, lambda: time.sleep(2.0), workers.run(Squares(0.01), range(20)))
        assert time.monotonic() - clocks[0] > workers.now() - clocks[1] + 2.0


# ── equal bits ──


def wrong(result: int) -> int:
    return result + 1


def test_all_jobs_are_done_twice_where_all_are_audited() -> None:
    with cluster(audit=1.0, patience=replace(SHORT, lease=60, silence=60)) as (workers, _, _):
        assert sorted(workers.run(Squares(0.01), range(60))) == squares(60)
        assert 0.5 < workers.metrics()["cluster/duplicates"] <= 1.0


def test_an_audit_names_the_node_that_computes_other_bits() -> None:
    for index in (0, 1):
        with cluster(audit=1.0) as (workers, nodes, _):
            nodes.links[index].spoil = wrong
            with pytest.raises(
                UserError, match=rf"^node node{index}: expected the bits of this machine in job \d+, \d+"
            ):
                list(workers.run(Squares(0.01), range(60)))


def test_what_has_no_exact_part_is_not_done_twice_nor_compared() -> None:
    with cluster(audit=1.0, patience=replace(SHORT, lease=60, silence=60)) as (workers, nodes, _):
        nodes.links[0].spoil = wrong
        assert len(list(workers.run(Calls(square), range(60)))) == 60
        assert workers.metrics()["cluster/duplicates"] < 0.2


def test_about_one_self_play_game_in_a_hundred_is_audited() -> None:
    with cluster(patience=replace(SHORT, lease=60, silence=60)) as (workers, _, _):
        assert sorted(workers.run(Squares(), range(3000))) == squares(3000)
        assert 0.003 < workers.metrics()["cluster/duplicates"] < 0.03


def test_a_node_of_another_fingerprint_takes_no_part_and_alone_is_an_error() -> None:
    other = {**fingerprint(), "Python": "3.11.99", "code": "sha256 0"}
    with cluster() as (workers, nodes, said):
        strange = nodes.add("strange", other)
        assert sorted(workers.run(Squares(0.01), range(40))) == squares(40)
        assert strange.answers == 0
        (line,) = [line for line in said if "takes no part" in line]
        assert line.startswith("node strange takes no part: code: expected sha256 ") and "got 3.11.99; --mixed" in line

    class Strange(HereNodes):
        def add(self, name: str = "", their_fingerprint: dict[str, str] | None = None) -> Any:
            return super().add(name, other)

    nodes = Strange(1)
    with pytest.raises(UserError, match="nodes here: node node0 takes no part: code: expected"):
        Coordinator(nodes, report=lambda line: None)
    assert all(link.is_dead for link in nodes.links)


def test_a_mixture_that_is_allowed_is_reported_and_not_compared() -> None:
    other = {**fingerprint(), "CPU": "another"}
    with cluster(mixed=True, audit=1.0) as (workers, nodes, said):
        strange = nodes.add("strange", other)
        strange.spoil = wrong
        assert len(list(workers.run(Squares(0.01), range(60)))) == 60
        assert strange.answers > 0 and said[0].startswith("node strange may compute other bits: CPU: expected ")


def test_a_fingerprint_has_every_package_and_changes_with_any_file_of_code(tmp_path: Path) -> None:
    assert set(PACKAGES) == LAYERS.keys()
    assert {".py", ".json", ".toml"} == CODE
    (tmp_path / "games").mkdir()
    (tmp_path / "games/a.py").write_text("one")
    (tmp_path / "games/a.txt").write_text("one")
    first = hash_of_code(tmp_path)
    (tmp_path / "games/a.txt").write_text("two")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.py").write_text("two")
    assert hash_of_code(tmp_path) == first
    (tmp_path / "games/a.py").write_text("two")
    second = hash_of_code(tmp_path)
    (tmp_path / "games/a.py").rename(tmp_path / "games/b.py")
    assert len({first, second, hash_of_code(tmp_path)}) == 3
    assert {"code", "Python", "numpy", "numba", "torch", "CPU", "system"} <= fingerprint().keys()
    assert "none" not in fingerprint().values()


def test_differences_name_what_is_missing_on_either_side() -> None:
    assert differences({"a": "1", "b": "2"}, {"a": "1", "c": "3"}) == [
        "b: expected 2, got None",
        "c: expected None, got 3",
    ]


def test_nodes_take_over_the_environment_that_decides_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints.os, "environ", {"OMP_NUM_THREADS": "1", "NUMBA_OPT": "1", "HOME": "/"})
    take_over({"ZERMELO_INSTRUCTIONS": "avx2", "NUMBA_OPT": "3"})
    assert environment() == {"ZERMELO_INSTRUCTIONS": "avx2", "NUMBA_OPT": "3"}
    assert fingerprints.os.environ["HOME"] == "/"


def test_network_travels_by_its_content_and_a_cluster_plays_the_games_of_one_process(tmp_path: Path) -> None:
    net = make_net("mlp:1x16", GAME, seed=3)
    network = pack(save(tmp_path / "net", net, Card(GAME.name, GAME.version, net.text)))
    setup = Setup(GAME.spec, replace(SelfPlaySettings(), simulations=6, fast_simulations=2, slots=2), PUCT(), 7)
    found = []
    with cluster(audit=0.5) as (workers, _, _):
        for each in (workers, workers):
            found.append(sorted(data for data, _ in play_games(setup, network, range(12), each)))
    found.append(sorted(data for data, _ in play_games(setup, network, range(12), InProcess())))
    assert found[0] == found[1] == found[2] and len(set(found[0])) == 12


def test_a_run_on_a_cluster_whose_nodes_die_has_the_records_and_weights_of_one_process(tmp_path: Path) -> None:
    run(tmp_path / "here", 16)
    with cluster(count=2, audit=0.2) as (workers, nodes, _):

        def disturb() -> None:
            for _ in range(3):
                time.sleep(1.0)
                nodes.links[-1].kill()
                nodes.add()

        thread = threading.Thread(target=disturb)
        thread.start()
        run(tmp_path / "there", 16, workers=workers)
        thread.join()
    assert weights(tmp_path / "there") == weights(tmp_path / "here")
    games = [
        {record.metadata["number"]: record.to_bytes() for record in read_records(tmp_path / name / "games", GAME)}
        for name in ("here", "there")
    ]
    assert games[0] == games[1] and len(games[0]) == 16
    history = History(tmp_path / "there" / METRICS)
    assert {"cluster/workers", "cluster/duplicates", "cluster/leases expired"} <= set(history.names())
    shown = [name for metric in documented() for name in metric.of(history.names())]
    assert {name for name in history.names() if name.startswith("cluster/")} <= set(shown)
    assert {"cluster/node0 games per second", "cluster/node0 idle"} <= set(shown)
    assert TINY.mixed is False


# ── leases ──


def test_a_lease_lasts_so_many_medians_and_at_least_a_time() -> None:
    leases = Leases(least=10.0)
    leases.give(0, "a", 0.0)
    assert leases.expire(1e9) == []  # without an example there is no deadline
    for number in range(1, 4):
        leases.give(number, "a", 0.0)
        leases.end(number, "a", 5.0)
    assert leases.median() == 5.0 and leases.limit() == FACTOR * 5.0
    assert leases.expire(FACTOR * 5.0) == [] and leases.expire(FACTOR * 5.0 + 0.1) == [(0, "a")]
    assert leases.expire(1e9) == [] and leases.jobs("a") == {0} and not leases.is_live(0)  # it may still answer
    leases.give(0, "b", 100.0)
    assert leases.is_live(0) and leases.nodes(0) == {"a", "b"}
    for number in range(10, 10 + MEASURED):
        leases.give(number, "a", 0.0)
        leases.end(number, "a", 0.1)
    assert leases.limit() == 10.0


def test_a_lost_node_leaves_no_lease_and_a_silent_one_none_that_is_live() -> None:
    leases = Leases()
    for number in range(3):
        leases.give(number, "a", 0.0)
    leases.give(2, "b", 1.0)
    assert leases.expire_all("a") == [(0, "a"), (1, "a"), (2, "a")] and leases.is_live(2)
    assert leases.lose("a") == [0, 1, 2] and leases.nodes(0) == set() and leases.nodes(2) == {"b"}
    assert leases.lose("a") == []
    leases.end(7, "unknown", 1.0)
    assert leases.median() == 0.0


def test_slow_jobs_are_those_of_one_node_alone_for_longer_than_the_median() -> None:
    leases = Leases()
    leases.give(9, "a", 0.0)
    leases.end(9, "a", 2.0)
    for number, now in enumerate((0.0, 1.0, 5.0)):
        leases.give(number, "a", now)
    leases.give(1, "b", 5.0)
    assert list(leases.slow(5.5)) == [0]
    assert list(leases.slow(20.0)) == [0, 2]


def test_reply_and_order_hold_nothing_by_default() -> None:
    assert Reply(3) == Reply(3, (), (), b"", "", 0.0) and not Order(3).is_over


# ── nodes that share a folder ──


def test_nodes_that_share_a_folder_do_every_job_once_and_serve_one_coordinator_after_the_other(tmp_path: Path) -> None:
    is_over = threading.Event()
    path = str(tmp_path / "shared")
    nodes = [threading.Thread(target=serve, args=(path, 1, lambda line: None, is_over.is_set)) for _ in range(2)]
    for node in nodes:
        node.start()
    try:
        for count in (40, 10):
            with Coordinator(FolderNodes(path), patience=SHORT, report=lambda line: None) as workers:
                assert sorted(workers.run(Squares(0.02), range(count))) == squares(count)
                assert sorted(workers.run(Calls(square), range(count))) == squares(count)
                with pytest.raises(UserError, match="expected"):
                    FolderNodes(path)
                with pytest.raises(LookupError, match="three is not allowed"):
                    list(workers.run(Calls(fail_at_three), range(10)))
            assert sessions(tmp_path / "shared") == []
    finally:
        is_over.set()
        for node in nodes:
            node.join()


def test_what_a_killed_coordinator_left_in_a_folder_is_removed_and_never_read(tmp_path: Path) -> None:
    (tmp_path / "session-00/nodes/old").mkdir(parents=True)
    (tmp_path / "session-00/environment").write_bytes(b"not a message")
    (tmp_path / "session-00/nodes/old/describe").write_bytes(b"not a message")
    tmp_path.chmod(0o700)
    nodes = FolderNodes(str(tmp_path))
    assert sessions(tmp_path) == []
    nodes.open(Inbox())
    (session,) = sessions(tmp_path)
    assert session.name != "session-00"
    nodes.close()


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    for path, words in ((str(tmp_path), "expected a folder that this user alone can write to"), ("", "got no path")):
        with pytest.raises(UserError, match=words):
            own_folder(path)
    assert stat.S_IMODE(own_folder(str(tmp_path / "new")).stat().st_mode) == 0o700


# ── the command line ──


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--cluster nonsense",
            "expected auto, HOST:PORT, local:N or folder:PATH, got 'nonsense'|expected Ray, found none",
        ),
        ("--cluster local:0", "expected local:N with N from 1 to 64, got 'local:0'|expected Ray, found none"),
        ("--cluster folder:", "expected folder:PATH, got no path"),
        ("--cluster folder:x --workers 2", "expected none with --cluster folder:PATH"),
        ("--cluster folder:x --workers 0", "workers: expected 1 or more, got 0"),
        ("--workers -1", "workers: expected 0 to "),
        ("--mixed", "--mixed: expected --cluster with it"),
    ],
)
def test_options_of_a_cluster_that_cannot_be_are_one_line(words: str, message: str) -> None:
    parser = Arguments()
    add_workers(parser)
    options = parser.parse_args(words.split())
    with pytest.raises(UserError, match=message), opened_workers(options):
        pass


def test_a_mixture_that_is_allowed_belongs_to_the_configuration_of_the_run() -> None:
    from train.__main__ import parser
    from train.start import configuration

    options = parser().parse_args(["tic_tac_toe", "--cluster", "auto", "--mixed"])
    assert configuration(GAME, options, None).mixed
    assert configuration(GAME, parser().parse_args(["tic_tac_toe"]), None).mixed is False
