"""Makes .venv and installs the project into it, development tools included. `make setup` runs this.

- Nothing to do is the usual case, and takes a moment: .venv/installed holds the folder and a digest of DESCRIBED.
- Killed half-way, it leaves .venv/installing behind; the next call then starts from an empty .venv.
- Two at once: the second waits. The kernel drops the lock when the last process of the first is gone, however it went.

The syntax is that of any Python 3, so that an old one can read as far as the version check.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys

NEEDED = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
DESCRIBED = ["pyproject.toml", "constraints.txt"]  # what an install depends on

VENV = os.path.join(ROOT, ".venv")
INSTALLED = os.path.join(VENV, "installed")
INSTALLING = os.path.join(VENV, "installing")
PYTHON = os.path.join(VENV, "bin", "python")
LOCK = os.path.join(ROOT, ".venv.lock")

# Settings that send an install somewhere else than into .venv, or make it incomplete. Sources of packages
# (indexes, proxies, certificates) are left to the user.
UNWANTED = ["PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_NO_DEPS", "PIP_DRY_RUN", "PIP_PYTHON"]
UNWANTED += ["PIP_REQUIRE_HASHES", "PIP_CONSTRAINT", "PIP_REQUIREMENT", "PIP_EDITABLE", "PIP_PRE"]
UNWANTED += ["PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__"]


def wanted():
    """What .venv/installed contains when there is nothing to do."""
    digest = hashlib.sha256()
    for name in DESCRIBED:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    return "{}\n{}\n".format(ROOT, digest.hexdigest())


def found():
    """What .venv/installed contains, or nothing."""
    try:
        with open(INSTALLED, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def is_done():
    return not os.path.exists(INSTALLING) and os.access(PYTHON, os.X_OK) and found() == wanted()


def lock():
    descriptor = os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("setup: another one is at work in this folder; waiting for it", flush=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def run(command, lock_descriptor):
    # The children hold the lock too: a pip that outlives its killed parent is still waited for.
    environment = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    subprocess.run(command, cwd=ROOT, env=environment, pass_fds=[lock_descriptor], check=True)


def write(path, text):
    """Whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def install(lock_descriptor):
    goal = wanted()  # read first: a file edited meanwhile is noticed by the next call
    before = found()
    interrupted = os.path.exists(INSTALLING)
    moved = before != "" and before.splitlines()[0] != ROOT
    without_python = before != "" and not os.access(PYTHON, os.X_OK)
    if interrupted or moved or without_python:
        why = "an install was interrupted" if interrupted else "the folder moved" if moved else "its Python is gone"
        print("setup: {}: starting from an empty .venv".format(why), flush=True)
        shutil.rmtree(VENV)
        before = ""
    upgrade = before != ""

    os.makedirs(VENV, exist_ok=True)
    write(INSTALLING, "")
    try:
        if not upgrade:
            print("setup: making .venv with Python {}.{}.{}".format(*sys.version_info[:3]), flush=True)
            run([sys.executable, "-m", "venv", ".venv"], lock_descriptor)
        print("setup: installing the project and its tools; the first time takes minutes", flush=True)
        pip = [PYTHON, "-m", "pip", "install", "--no-user", "--constraint", "constraints.txt"]
        pip += [] if sys.stdout.isatty() else ["--quiet"]
        # The build tool comes from constraints.txt as well, instead of being fetched anew for each build.
        run([*pip, "setuptools"], lock_descriptor)
        run([*pip, "--no-build-isolation", "--editable", ".[dev]"], lock_descriptor)
    except subprocess.CalledProcessError as error:
        # An upgrade that failed in pip (without a network, for example) was rolled back by pip: what was there is kept.
        if upgrade and error.returncode > 0:
            os.remove(INSTALLING)
        raise
    write(INSTALLED, goal)
    os.remove(INSTALLING)
    print("setup: done", flush=True)


def main():
    if is_done():
        return 0
    if sys.version_info < NEEDED:
        have = "{} is {}.{}".format(sys.executable, *sys.version_info[:2])
        print("setup: Python 3.11 or newer is needed, {}; name another: make PYTHON=python3.12".format(have))
        return 2
    lock_descriptor = lock()
    try:
        if not is_done():  # the one waited for may have done it
            install(lock_descriptor)
    except subprocess.CalledProcessError as error:
        words = " ".join(os.path.basename(word) for word in error.cmd[:4])
        print("setup: `{}` failed, for the reason above; once that is solved, call again".format(words))
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted; call again, it starts afresh")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
