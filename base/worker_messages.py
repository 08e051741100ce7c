"""What workers elsewhere and the process that gives them work send each other: the one place where tasks, jobs and results are pickled.

    there       serve(inbox, send)                          # until LEAVE comes, or something is raised
    here        task_message(task), job_message(number, job), LEAVE
                opened_result(message, where)               # (number, result); raises what was raised there

A worker gets a task's message before the first of its jobs. What stands between the two, such as a node of a cluster, opens them with
`opened_task` and `opened_job`, and answers with `result_message` and `failure_message`.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from multiprocessing import spawn
from queue import SimpleQueue
from typing import Any

from base.workers import Task, Worker

LEAVE = b""
"""No pickle is empty."""
_TASK = "task"  # a job's message begins with its number


def task_message(task: Task[Any, Any]) -> bytes:
    data = pickle.dumps(task)
    return pickle.dumps((_TASK, data, _main_module() if b"__main__" in data else {}))


def opened_task(message: bytes) -> Task[Any, Any]:
    _, task, main = pickle.loads(message)
    spawn.prepare(main)
    found: Task[Any, Any] = pickle.loads(task)
    return found


def _main_module() -> dict[str, Any]:
    """Where a worker finds the program that is run here; what a task takes of it is defined there."""
    found = spawn.get_preparation_data("worker")
    return {name: value for name, value in found.items() if name.startswith("init_main")}


def job_message(number: int, job: object) -> bytes:
    return pickle.dumps((number, job))


def opened_job(message: bytes) -> tuple[int, Any]:
    number, job = pickle.loads(message)
    return number, job


def result_message(number: int, result: object) -> bytes:
    return pickle.dumps((number, result))


def opened_result(message: bytes, where: Callable[[], str]) -> tuple[int, Any]:
    """The number of a job and its result. An error gets `where()` and the worker's traceback as a note."""
    number, value = pickle.loads(message)
    if number is not None:
        return number, value
    error, trace = value
    error.add_note(f"in {where()}\n{trace}")
    raise error


def sent_message(message: object) -> bytes:
    """Any other message between two machines that trust each other."""
    return pickle.dumps(message)


def opened_message(data: bytes) -> Any:
    return pickle.loads(data)


def failure_message(error: Exception) -> bytes:
    """For an exception that is being handled."""
    trace = traceback.format_exc()
    try:
        message = pickle.dumps((None, (error, trace)))
        pickle.loads(message)  # many exceptions can be pickled, but not unpickled
    except Exception:
        return pickle.dumps((None, (RuntimeError(f"{type(error).__name__}: {error}"), trace)))
    return message


def serve(inbox: SimpleQueue[bytes], send: Callable[[bytes], None]) -> None:
    """The life of a worker: tasks and jobs until it is to leave. An error is sent, and ends it."""
    try:
        _serve(inbox, send)
    except Exception as error:
        send(failure_message(error))


def _serve(inbox: SimpleQueue[bytes], send: Callable[[bytes], None]) -> None:
    worker: Worker[Any, Any] | None = None
    in_hand = 0
    while True:
        while not in_hand or not inbox.empty():
            data = inbox.get()
            if data == LEAVE:
                return
            message = pickle.loads(data)
            if message[0] == _TASK:
                worker = None  # and what it kept, before the next one needs room
                _, task, main = message
                spawn.prepare(main)
                worker = pickle.loads(task).worker()
            else:
                assert worker is not None
                worker.add(*message)
                in_hand += 1
        assert worker is not None
        for result in worker.step():
            in_hand -= 1
            send(result_message(*result))
