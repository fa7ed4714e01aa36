"""Cases 25 to 29, 31, 33 to 37: what one run can see of another, of the worker, of the host."""

from __future__ import annotations

import errno
import math
import socket
from pathlib import Path

import numpy as np
import pytest

from sandbox import environments
from sandbox.base import Outcome
from sandbox.inside.values import Members
from tests.abuse.conftest import Lab

pytestmark = pytest.mark.asyncio(loop_scope="session")
REPOSITORY = Path(__file__).resolve().parents[2]


async def test_25_files_do_not_reach_the_next_run(lab: Lab) -> None:
    code = """
        import os
        def attack():
            made = []
            for folder in ("/tmp", "/dev/shm", "."):
                os.makedirs(os.path.join(folder, "left", "deep"))
                with open(os.path.join(folder, "left", "deep", "note"), "w") as file:
                    file.write("from A")
                os.symlink("/etc", os.path.join(folder, "link"))
                os.mkfifo(os.path.join(folder, "pipe"))
                os.chmod(os.path.join(folder, "left"), 0)
                made.append(folder)
            for _ in range(1500):  # deeper than recursion, longer than a path may be
                os.mkdir("d" * 200)
                os.chdir("d" * 200)
            return made
        """
    done = await lab.attack(code, Outcome.OK)  # the run after it lists all three folders
    assert len(done.result) == 3


async def test_26_patches_do_not_reach_the_next_run(lab: Lab) -> None:
    code = """
        import builtins, json, math, sys
        import numpy
        from pymatgen.core import Composition
        def attack():
            math.pi = 3
            numpy.arange = lambda n: numpy.zeros(n)
            Composition.reduced_formula = property(lambda self: "hacked")
            json.dumps = lambda *a, **k: '"hacked"'
            builtins.sum = lambda x: -1
            sys.path.clear()
            return Composition("Fe2O3").reduced_formula
        """
    assert (await lab.attack(code, Outcome.OK, Outcome.BAD_RESULT)).outcome is Outcome.OK
    check = "import math\ndef attack():\n    return math.pi, sum([1, 2])"
    assert (await lab.attack(check, Outcome.OK)).result == (math.pi, 3)


async def test_27_no_other_code_or_secret_in_any_frame(lab: Lab, marked_environment: str) -> None:
    await lab.attack("SECRET_OF_A = 'a' * 3 + 'zebra'\ndef attack():\n    return 1", Outcome.OK)
    code = """
        import gc, sys
        def attack():
            containers, texts, frame = gc.get_objects(), set(), sys._getframe()
            while frame is not None:
                containers += [frame.f_locals, frame.f_globals]
                frame = frame.f_back
            gc.unfreeze()
            for item in containers + gc.get_objects():
                if type(item) is dict:
                    item = [*item.keys(), *item.values()]
                if type(item) in (list, tuple):
                    texts.update(str(text) for text in item if type(text) in (str, bytes))
            everything = "\\n".join(texts)
            # joined at run time: a constant would find itself
            needles = ["".join(("ze", "bra")), "-".join(("host", "secret")), "attack"]
            return [needle in everything for needle in needles]
        """
    found = (await lab.attack(code, Outcome.OK, timeout=60.0)).result
    assert found == [False, False, True]


async def test_28_exit_hooks_and_threads_do_not_hold_the_worker(lab: Lab) -> None:
    code = """
        import atexit, threading, time
        def attack():
            atexit.register(time.sleep, 60)
            threading.Thread(target=time.sleep, args=(60,)).start()
            return "done"
        """
    done = await lab.attack(code, Outcome.OK, timeout=10.0)
    assert done.result == "done"


async def test_29_random_numbers_differ_between_runs(lab: Lab) -> None:
    code = """
        import random
        import numpy
        def attack():
            return random.random(), float(numpy.random.rand()), random.getrandbits(64)
        """
    first = (await lab.attack(code, Outcome.OK)).result
    second = (await lab.attack(code, Outcome.OK)).result
    assert all(a != b for a, b in zip(first, second, strict=True))


async def test_31_values_that_json_lacks_come_back_exactly(lab: Lab) -> None:
    code = """
        import numpy as np
        def attack():
            return {
                (1, "a"): float("nan"), 2: -float("inf"), None: {1, 2},
                "array": np.arange(6, dtype=np.int16).reshape(2, 3),
                True: frozenset({(1, 2)}), "complex": 1 + 2j, "single": np.float32(0.1),
                "bytes": b"\\x00\\xff", "big": 10**5000, "dollar": {"$": "tuple"},
            }
        """
    value = (await lab.attack(code, Outcome.OK)).result
    assert math.isnan(value[1, "a"])
    assert value[2] == -math.inf
    assert value["array"].dtype == np.int16
    assert value["array"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert value[None] == {1, 2}
    assert value[True] == Members(((1, 2),), frozen=True)  # tuples are never hashed
    assert value["complex"] == 1 + 2j
    assert value["single"] == np.float32(0.1)
    assert type(value["single"]) is np.float32
    assert value["bytes"] == b"\x00\xff"
    assert value["big"] == 10**5000
    assert value["dollar"] == {"$": "tuple"}


async def test_33_sockets_of_every_family_are_refused(lab: Lab) -> None:
    """Only creates sockets; AF_UNIX alone is left, for honest libraries."""
    code = """
        import socket
        def attack():
            made = []
            for family in range(2, 64):
                for kind in (1, 2, 3, 5):
                    for protocol in (0, 1, 6, 17, 255):
                        try:
                            socket.socket(family, kind, protocol).close()
                        except OSError:
                            continue
                        made.append((family, kind))
            try:
                socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            except OSError as error:
                return made, error.errno, len(socket.socketpair())
        """
    made, number, pair = (await lab.attack(code, Outcome.OK)).result
    assert made == []
    assert number == errno.EACCES
    assert pair == 2
    assert socket.AF_INET == 2


async def test_34_nothing_of_the_host_is_readable(lab: Lab) -> None:
    forbidden = [
        "/etc/shadow", "/root/.ssh", "/var/run/docker.sock", "/run/docker.sock", "/var/log",
        "/run/podman/podman.sock", "/proc/kcore", "/dev/mem", "/dev/sda", "/dev/vda", "/boot",
        str(REPOSITORY), str(REPOSITORY / ".git"), str(Path.home() / ".ssh"),
    ]  # fmt: skip
    code = f"""
        import os
        def attack():
            readable = []
            for path in {forbidden!r}:
                try:
                    found = os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
                except OSError:
                    continue
                if found:
                    readable.append(path)
            return readable
        """
    readable = (await lab.attack(code, Outcome.OK)).result
    # A base image brings log and boot folders of its own; never the host's.
    assert set(readable) <= ({"/var/log", "/boot"} if lab.sandbox.tier != "bubblewrap" else set())


async def test_34_no_test_source_notebook_or_expected_value_is_inside(lab: Lab) -> None:
    code = """
        import os
        def attack():
            found = []
            for folder, folders, files in os.walk("/"):
                if folder == "/":
                    folders[:] = [name for name in folders if name not in ("proc", "sys")]
                names = set(folders) | set(files)
                bad = {".git", "gold.json", "tasks.jsonl", "properties.json"} & names
                bad |= {"new_unit_test.py"} & names
                bad |= {name for name in files if name.endswith(".ipynb")}
                if not folder.endswith("/pytz"):
                    bad |= {"reference.py"} & names
                if "/pymatgen" in folder or "/matsmith" in folder:
                    bad |= {name for name in names if name in ("tests", "test_files")}
                    bad |= {name for name in files if name.startswith("test_")}
                found += [os.path.join(folder, name) for name in sorted(bad)]
            return found
        """
    assert (await lab.attack(code, Outcome.OK, timeout=60.0)).result == []


async def test_35_no_variable_of_the_host_in_any_environ(lab: Lab, marked_environment: str) -> None:
    code = """
        import os
        def attack():
            readable, hits = 0, []
            for name in os.listdir("/proc"):
                for path in (f"/proc/{name}/environ", f"/proc/{name}/task/{name}/environ"):
                    try:
                        with open(path, "rb") as file:
                            text = file.read()
                    except OSError:
                        continue
                    readable += 1
                    if b"host-secret" in text or b"MATSMITH_HOST" in text:
                        hits.append(path)
            return readable, hits, [key for key in os.environ if key.startswith("MATSMITH")]
        """
    readable, hits, variables = (await lab.attack(code, Outcome.OK)).result
    assert readable >= 2  # its own, so that the search can find something at all
    assert hits == []
    assert variables == []


async def test_36_doors_of_the_kernel_are_shut(lab: Lab) -> None:
    code = """
        import ctypes, os, platform
        libc = ctypes.CDLL(None, use_errno=True)
        NUMBERS = {
            "x86_64": dict(unshare=272, setns=308, mount=165, umount2=166, ptrace=101, bpf=321,
                           io_uring_setup=425, keyctl=250, add_key=248, perf_event_open=298,
                           userfaultfd=323, process_vm_readv=310, pidfd_getfd=438, shmget=29,
                           msgget=68, semget=64, mq_open=240, chroot=161, pivot_root=155,
                           open_by_handle_at=304, kexec_load=246, init_module=175, reboot=169),
            "aarch64": dict(unshare=97, setns=268, mount=40, umount2=39, ptrace=117, bpf=280,
                            io_uring_setup=425, keyctl=219, add_key=217, perf_event_open=241,
                            userfaultfd=282, process_vm_readv=270, pidfd_getfd=438, shmget=194,
                            msgget=186, semget=190, mq_open=180, chroot=51, pivot_root=41,
                            open_by_handle_at=265, kexec_load=104, init_module=105, reboot=142),
        }[platform.machine()]
        def attack():
            answers = {}
            for name, number in NUMBERS.items():
                ctypes.set_errno(0)
                result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
                answers[name] = (result, ctypes.get_errno())
            for flag in (0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
                ctypes.set_errno(0)
                clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
                result = libc.syscall(clone, flag | 17, 0, 0, 0, 0)
                if result == 0:
                    os._exit(0)
                answers[f"clone {flag:x}"] = (result, ctypes.get_errno())
            ctypes.set_errno(0)
            answers["clone3"] = (libc.syscall(435, 0, 0), ctypes.get_errno())
            return answers
        """
    answers = (await lab.attack(code, Outcome.OK)).result
    assert answers.pop("clone3") == (-1, errno.ENOSYS)
    assert len(answers) == 29
    assert {name: answer for name, answer in answers.items() if answer != (-1, errno.EPERM)} == {}


async def test_37_threads_and_subprocesses_work_for_honest_code(lab: Lab) -> None:
    code = """
        import multiprocessing, subprocess, sys, tempfile
        from concurrent.futures import ThreadPoolExecutor
        def square(x):
            return x * x
        def attack():
            with ThreadPoolExecutor(4) as pool:
                threads = list(pool.map(square, range(5)))
            with multiprocessing.get_context("fork").Pool(2) as pool:
                processes = pool.map(square, range(5))
            other = subprocess.run(
                [sys.executable, "-c", "import numpy; print(numpy.arange(3).sum())"],
                capture_output=True, text=True, check=True,
            ).stdout
            shell = subprocess.run("echo hello", shell=True, capture_output=True, text=True).stdout
            with tempfile.NamedTemporaryFile("w+") as file:
                file.write("kept")
                file.seek(0)
                kept = file.read()
            return threads, processes, other, shell, kept
        """
    done = await lab.attack(code, Outcome.OK, timeout=60.0)
    squares = [0, 1, 4, 9, 16]
    assert done.result == (squares, squares, "3\n", "hello\n", "kept")


async def test_88_no_mount_shows_a_path_of_the_host(lab: Lab) -> None:
    if lab.sandbox.tier != "bubblewrap":
        pytest.skip("an engine's storage shows where the engine, not the user, keeps its layers")
    code = """
        import os
        def attack():
            kinds = ("mountinfo", "mounts", "mountstats", "maps", "cmdline", "environ", "smaps")
            text = ""
            for folder in ("self", "thread-self", str(os.getppid()), "1"):
                for kind in kinds:
                    try:
                        with open(f"/proc/{folder}/{kind}") as file:
                            text += file.read()
                    except OSError:
                        pass
            writable = []
            for line in open("/proc/self/mountinfo"):
                point = line.split()[4]
                if os.access(point, os.W_OK) and not point.startswith(("/tmp", "/dev/", "/proc")):
                    writable.append(point)
            return text, writable
        """
    text, writable = (await lab.attack(code, Outcome.OK)).result
    environment = environments.build("live")
    for folder in (environment.folder, environment.prefix, environments.cache_folder()):
        assert str(folder) not in text
    assert "/env/lib" in text
    assert writable == []
