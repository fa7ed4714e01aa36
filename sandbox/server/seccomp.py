"""The filter of system calls: AF_UNIX sockets only, no namespaces, no doors into the kernel.

It is a program of classic BPF over the number and the arguments of a call. ``calls.yaml`` names the
calls that it refuses; the host sends it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

#: Table -> name -> number by machine, or None.
Calls = Mapping[str, Mapping[str, Sequence[Any]]]

#: Machine -> (audit number, column of ``calls.yaml``, first number after those of its own).
MACHINES = {"x86_64": (0xC000003E, 0, 335), "aarch64": (0xC00000B7, 1, 295)}
#: From there to those that both have (`SHARED`), and from `UNKNOWN` on, there is nothing that
#: ``calls.yaml`` knows: absent too, as are the x32 calls of x86_64.
SHARED = 424
UNKNOWN = 457
EPERM, ENOMEM, EACCES, ENOSYS = 1, 12, 13, 38

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x50000
#: Offsets in what the kernel hands over: the call's number, the machine, its arguments.
NUMBER, AUDIT, FIRST, FOURTH = 0, 4, 16, 40
AF_UNIX = 1
MAP_SHARED, MAP_ANONYMOUS = 1, 0x20
ANY_NAMESPACE = 0x7E020000


class Instruction(NamedTuple):
    """One of the program; jumps count the instructions that they leave out."""

    code: int
    if_true: int
    if_false: int
    value: int


def seccomp_program(machine: str, calls: Calls, *, counted: bool = True) -> bytes:
    """The filter for a machine.

    Where the kernel does not count the memory of the run (``counted``), shared anonymous memory is
    refused: it can be held without standing in the account of any process.
    """
    if machine not in MACHINES:
        machines = ", ".join(MACHINES)
        raise RuntimeError(f"no seccomp filter for {machine}; machines: {machines}")
    audit, column, gap = MACHINES[machine]
    looked_at = {name: numbers[column] for name, numbers in calls["looked_at"].items()}
    program = [
        *_this_machine_only(audit),
        *_known_numbers_only(gap),
        *_refused(calls["refused"], column, EPERM),
        *_refused(calls["absent"], column, ENOSYS),
        *_unix_only(looked_at["socket"]),
        *_unix_only(looked_at["socketpair"]),
    ]
    if not counted:
        program += _no_shared_memory(looked_at["mmap"])
    program += _no_namespaces(looked_at["clone"])
    program.append(_return(ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _load(offset: int) -> Instruction:
    return Instruction(LOAD, 0, 0, offset)


def _return(value: int) -> Instruction:
    return Instruction(RETURN, 0, 0, value)


def _fail(errno: int) -> Instruction:
    return _return(FAIL | errno)


def _unless(code: int, value: int, skip: int) -> Instruction:
    """Go on where the test holds, else leave out ``skip`` instructions."""
    return Instruction(code, 0, skip, value)


def _this_machine_only(audit: int) -> list[Instruction]:
    """Calls by the numbers of another machine (32 bits) end the process."""
    return [
        _load(AUDIT),
        Instruction(EQUAL, 1, 0, audit),
        _return(KILL),
        _load(NUMBER),
    ]


def _known_numbers_only(gap: int) -> list[Instruction]:
    """What is newer than ``calls.yaml``, or of neither machine, does not exist."""
    return [
        _unless(AT_LEAST, UNKNOWN, 1),
        _fail(ENOSYS),
        _unless(AT_LEAST, gap, 2),
        Instruction(AT_LEAST, 1, 0, SHARED),
        _fail(ENOSYS),
    ]


def _refused(
    table: Mapping[str, Sequence[Any]], column: int, errno: int
) -> list[Instruction]:
    program: list[Instruction] = []
    for numbers in table.values():
        number = numbers[column]
        if number is not None:
            program += [_unless(EQUAL, number, 1), _fail(errno)]
    return program


def _unix_only(call: int) -> list[Instruction]:
    """A socket of any other family is refused."""
    return [
        _unless(EQUAL, call, 4),
        _load(FIRST),
        Instruction(EQUAL, 1, 0, AF_UNIX),
        _fail(EACCES),
        _load(NUMBER),
    ]


def _no_shared_memory(mmap: int) -> list[Instruction]:
    return [
        _unless(EQUAL, mmap, 5),
        _load(FOURTH),
        _unless(ANY_BIT, MAP_ANONYMOUS, 2),
        _unless(ANY_BIT, MAP_SHARED, 1),
        _fail(ENOMEM),
        _load(NUMBER),
    ]


def _no_namespaces(clone: int) -> list[Instruction]:
    return [
        _unless(EQUAL, clone, 4),
        _load(FIRST),
        _unless(ANY_BIT, ANY_NAMESPACE, 1),
        _fail(EPERM),
        _load(NUMBER),
    ]
