"""System calls: the filter of refused ones, mounts, capabilities."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct

libc = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUTS, NEWIPC, NEWPID = 0x20000, 0x4000000, 0x8000000, 0x20000000
ANY_NAMESPACE = 0x7E020000
RDONLY, REMOUNT, BIND, MOVE, DETACH = 1, 32, 4096, 8192, 2
SAFE = 2 | 4  # no set-id programs, no devices
PRIVATE_TREE = 16384 | 1 << 18  # nothing of it is seen elsewhere
PRIVATE = SAFE | 8  # nothing to execute either

#: Machine -> (audit number, index into the table below).
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
#: First number after those that a machine has of its own: from there to those that both have
#: (`SHARED`), and from `UNKNOWN` on, there is nothing that this file knows.
GAP = {"x86_64": 335, "aarch64": 295}
SHARED = 424
#: Refused system calls: numbers on x86_64 and aarch64 (None: does not exist there).
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "kcmp": (312, 272), "bpf": (321, 280),
    "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "userfaultfd": (323, 282), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "shmget": (29, 194), "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186),
    "mq_open": (240, 180), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setdomainname": (171, 162), "syslog": (103, 116), "fanotify_init": (300, 262),
    "vhangup": (153, 58),
}  # fmt: skip
#: Absent, so that callers fall back: clone3 hides its flags from a filter, memory behind a
#: memfd is counted in no process.
ABSENT = {
    "clone3": (435, 435), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "io_setup": (206, 0),
}  # fmt: skip
#: The first number that this file knows nothing about: absent too, with all that follow, and so
#: with the x32 calls of x86_64.
UNKNOWN = 457
SOCKET, SOCKETPAIR, CLONE, MMAP = (41, 198), (53, 199), (56, 220), (9, 222)
EPERM, ENOMEM, EACCES, ENOSYS = 1, 12, 13, 38


def seccomp_program(machine: str, *, counted: bool = True) -> bytes:
    """BPF instructions of the filter: AF_UNIX sockets only, no namespaces, no kernel doors.

    Where the kernel does not count the memory of the run, shared anonymous memory is refused: it
    can be held without standing in the account of any process.
    """
    if machine not in MACHINES:
        raise RuntimeError(f"no seccomp filter for {machine}; known: {', '.join(MACHINES)}")
    audit, column = MACHINES[machine]
    load, equal, at_least, any_bit, ret = 0x20, 0x15, 0x35, 0x45, 0x06
    errno, allow, kill = 0x50000, 0x7FFF0000, 0x80000000
    program: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),
        (equal, 1, 0, audit),
        (ret, 0, 0, kill),
        (load, 0, 0, 0),
    ]
    program += [(at_least, 0, 1, UNKNOWN), (ret, 0, 0, errno | ENOSYS)]
    program += [(at_least, 0, 2, GAP[machine]), (at_least, 1, 0, SHARED)]
    program += [(ret, 0, 0, errno | ENOSYS)]
    for table, code in ((REFUSED, EPERM), (ABSENT, ENOSYS)):
        for numbers in table.values():
            number = numbers[column]
            if number is not None:
                program += [(equal, 0, 1, number), (ret, 0, 0, errno | code)]
    for numbers in (SOCKET, SOCKETPAIR):
        program += [(equal, 0, 4, numbers[column]), (load, 0, 0, 16), (equal, 1, 0, 1)]
        program += [(ret, 0, 0, errno | EACCES), (load, 0, 0, 0)]
    if not counted:
        program += [(equal, 0, 5, MMAP[column]), (load, 0, 0, 40), (any_bit, 0, 2, 0x20)]
        program += [(any_bit, 0, 1, 1), (ret, 0, 0, errno | ENOMEM), (load, 0, 0, 0)]
    program += [(equal, 0, 4, CLONE[column]), (load, 0, 0, 16), (any_bit, 0, 1, ANY_NAMESPACE)]
    program += [(ret, 0, 0, errno | EPERM), (load, 0, 0, 0), (ret, 0, 0, allow)]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def check(result: int, what: str) -> None:
    """Raise OSError with the reason of the last failed call."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2); raises OSError naming the target."""
    arguments = [text.encode() for text in (source, target, kind)]
    check(libc.mount(*arguments, ctypes.c_ulong(flags), options.encode()), f"mount {target}")


def conceal(place: str) -> None:
    """Mount again, as an overlay, each folder whose path on the host /proc/self/mountinfo shows.

    A file becomes a copy. ``place`` is a folder on a tmpfs. Kernels before 5.11, and those without
    overlays, cannot: there the paths stay visible.
    """
    with open("/proc/self/mountinfo") as lines:
        mounts = [line.split()[3:5] for line in lines]
    bound = [
        point for root, point in mounts
        if root not in {"/", point} and not point.startswith("/dev/") and point != "/"
    ]  # fmt: skip
    empty = os.path.join(place, "empty")
    os.mkdir(empty)
    for number, point in enumerate(bound):
        new = os.path.join(place, str(number))
        if os.path.isdir(point):
            os.mkdir(new)
            try:
                mount("overlay", new, "overlay", RDONLY, f"lowerdir={point}:{empty}")
            except OSError:
                return
        else:
            shutil.copyfile(point, new)
        check(libc.umount2(point.encode(), DETACH), f"umount {point}")
        mount(new, point, "", MOVE if os.path.isdir(new) else BIND)
        mount("", point, "", BIND | REMOUNT | RDONLY | SAFE)
        for _, inner in mounts:  # what covered a part of it is gone with it
            if inner.startswith(f"{point}/"):
                mount("tmpfs", inner, "tmpfs", RDONLY | PRIVATE, "mode=755,size=4k")


def prctl(option: int, *values: int) -> None:
    """prctl(2) with up to four arguments."""
    padded = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    check(libc.prctl(option, *padded), f"prctl {option}")


def lock_down(program: bytes) -> None:
    """Give up every capability for good, then install the filter."""
    prctl(47, 4)  # PR_CAP_AMBIENT, CLEAR_ALL
    header = struct.pack("Ii", 0x20080522, 0)
    check(libc.capset(header, b"\0" * 24), "capset")
    prctl(38, 1)  # PR_SET_NO_NEW_PRIVS
    buffer = ctypes.create_string_buffer(program, len(program))
    filter_ = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(filter_, len(filter_))
    prctl(22, 2, ctypes.addressof(holder))  # PR_SET_SECCOMP, MODE_FILTER
