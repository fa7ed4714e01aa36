"""Ctrl-C and TERM: what waits is cancelled, what computes is interrupted, both clean up."""

import signal
import subprocess
import sys
import time

import pytest

COMMAND = """
import asyncio, sys, time
from foundation.command import guarded

async def work():
    try:
        print("begun", flush=True)
        WORK
    finally:
        SLOW
        print("cleaned", flush=True)
    return 0

code = guarded(work)
AFTER
print("ended", flush=True)
sys.exit(code)
"""
BUSY = "while True: pass"
WAITS = "await asyncio.sleep(600)"
THREAD = "await asyncio.to_thread(time.sleep, 2)"
SLOWLY = "time.sleep(2)"  # longer than a busy loop is given


def run(work, number, slow="pass", after="pass", times=1):
    """Send a signal once it has begun: output, exit code and seconds."""
    code = COMMAND.replace("WORK", work).replace("SLOW", slow)
    code = code.replace("AFTER", after)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    assert process.stdout.readline() == "begun\n"
    began = time.monotonic()
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.2)
    try:
        output, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    return output, process.returncode, time.monotonic() - began


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
@pytest.mark.parametrize("work", [BUSY, WAITS, THREAD])
def test_a_command_ends_within_seconds_and_cleans_up(work, number, code):
    output, returncode, seconds = run(work, number)
    assert returncode == code
    assert seconds < 5
    assert output.startswith("cleaned\n")
    assert output.endswith("ended\n")
    assert "Traceback" not in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_cleaning_up_is_not_interrupted(number):
    output, _, _ = run(WAITS, number, slow=SLOWLY)
    assert output.startswith("cleaned\n")


AFTER = "import time; time.sleep(1)"  # in the time that a busy loop is given


@pytest.mark.parametrize("work", [WAITS, "time.sleep(0.4)"])
def test_what_comes_after_the_command_is_not_interrupted(work):
    output, returncode, _ = run(work, signal.SIGTERM, after=AFTER)
    assert output.endswith("ended\n")
    assert returncode in {0, 143}


def test_a_second_signal_interrupts_at_once():
    output, returncode, seconds = run(BUSY, signal.SIGINT, times=2)
    assert (returncode, "Traceback" in output) == (130, False)
    assert seconds < 5
