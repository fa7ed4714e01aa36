"""The seccomp filter, decided instruction by instruction, for both machines."""

from __future__ import annotations

import ast
import struct
import sys
from pathlib import Path

import pytest

from sandbox import launcher, probe, runner

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x50000
READ, OPENAT, EXIT = {0: (0, 63), 1: (257, 56), 2: (231, 94)}.values()


def decide(machine: str, number: int, argument: int = 0, audit: int | None = None) -> int:
    """What the kernel would answer: a classic BPF interpreter for the five operations used."""
    program = runner.seccomp_program(machine)
    instructions = list(struct.iter_unpack("HBBI", program))
    audit = runner.MACHINES[machine][0] if audit is None else audit
    data = struct.pack("<IIQ6Q", number, audit, 0, argument, 0, 0, 0, 0, 0)
    accumulator = position = 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        if code == 0x20:
            accumulator = struct.unpack_from("<I", data, value)[0]
        elif code == 0x06:
            return int(value)
        else:
            test = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            position += if_true if test else if_false


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter(machine: str) -> None:
    column = runner.MACHINES[machine][1]
    for name, numbers in runner.REFUSED.items():
        if numbers[column] is not None:
            assert decide(machine, numbers[column]) == ERRNO | 1, name
    for name, numbers in runner.ABSENT.items():
        assert decide(machine, numbers[column]) == ERRNO | 38, name
    for call in (runner.SOCKET, runner.SOCKETPAIR):
        assert decide(machine, call[column], 1) == ALLOW
        for family in (0, 2, 10, 16, 17, 38, 40, 44):
            assert decide(machine, call[column], family) == ERRNO | 13
    clone = runner.CLONE[column]
    assert decide(machine, clone, 17) == ALLOW
    assert decide(machine, clone, 0x3D0F00) == ALLOW  # as pthread_create calls it
    for bit in (17, 25, 26, 27, 28, 29, 30):
        assert decide(machine, clone, (1 << bit) | 17) == ERRNO | 1
    for numbers in (READ, OPENAT, EXIT):
        assert decide(machine, numbers[column]) == ALLOW


def test_other_machines_are_killed_or_refused() -> None:
    assert decide("x86_64", 0, audit=0x40000003) == KILL  # 32-bit calls
    assert decide("x86_64", 0x40000000 + 41, 2) == ERRNO | 38  # x32 calls
    with pytest.raises(RuntimeError, match="riscv64"):
        runner.seccomp_program("riscv64")


@pytest.mark.parametrize("module", [runner, launcher, probe])
def test_what_runs_inside_imports_the_standard_library_only(module: object) -> None:
    source = Path(str(module.__file__)).read_text()  # type: ignore[attr-defined]
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        for name in names:
            assert name.partition(".")[0] in sys.stdlib_module_names
