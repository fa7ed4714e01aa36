"""Container images: one per environment, named after the content of its lock file."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests.exceptions

from sandbox import environments
from sandbox.base import SandboxError

DOCKERFILE = Path(__file__).parent / "Dockerfile"
BASE = "python:{}-slim"
PING_SECONDS = 5
CALL_SECONDS = 60
BUILD_SECONDS = 3600
CERTIFICATES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")


@dataclass(frozen=True)
class Engine:
    """A container engine that answers."""

    name: str
    client: docker.DockerClient


def _addresses(name: str) -> Iterator[str | None]:
    if name == "docker":
        yield None  # DOCKER_HOST, or the usual socket
        return
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    for path in (f"{runtime}/podman/podman.sock", "/run/podman/podman.sock"):
        yield f"unix://{path}"
    yield None  # DOCKER_HOST may point at podman


def find(name: str) -> Engine | None:
    """The engine of that name, ``None`` when it does not answer."""
    for address in _addresses(name):
        try:
            if address is None:
                client = docker.from_env(timeout=PING_SECONDS)
            else:
                client = docker.DockerClient(base_url=address, timeout=PING_SECONDS)
            parts = client.version().get("Components") or []
        except (docker.errors.DockerException, requests.exceptions.RequestException, OSError):
            continue
        real = "podman" if any("Podman" in part.get("Name", "") for part in parts) else "docker"
        if real == name:
            client.api.timeout = CALL_SECONDS
            return Engine(name, client)
        client.close()
    return None


def require(name: str) -> Engine:
    """The engine of that name; raises :class:`SandboxError` when it does not answer."""
    engine = find(name)
    if engine is None:
        hint = {
            "docker": "start it, or set DOCKER_HOST to its socket",
            "podman": "start its socket: systemctl --user start podman.socket",
        }[name]
        raise SandboxError(f"no {name} engine answers; {hint}")
    return engine


def tag(env: str) -> str:
    """Name of the image; changes with the lock file, the Dockerfile and the Python version."""
    content = environments.lock_file(env).read_bytes() + DOCKERFILE.read_bytes()
    content += _base(env).encode()
    name = environments.lock_file(env).parent.name.lower()
    return f"matsmith-{name}:{hashlib.sha256(content).hexdigest()[:12]}"


def exists(engine: Engine, env: str) -> bool:
    """Whether the image of this environment is there."""
    try:
        engine.client.images.get(tag(env))
    except docker.errors.ImageNotFound:
        return False
    return True


def build(
    engine: Engine,
    env: str,
    *,
    base: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> str:
    """Build the image unless it is there; returns its name.

    Raises
    ------
    SandboxError
        When a step fails; holds the end of the engine's log.
    """
    name = tag(env)
    if exists(engine, env):
        return name
    arguments = {"BASE": base or _base(env), "OPTIONS": " ".join(environments.build_options(env))}
    for key in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        if key in os.environ:
            arguments[key] = os.environ[key]
    api = engine.client.api
    api.timeout = BUILD_SECONDS
    log: list[str] = []
    try:
        stream = api.build(
            fileobj=_context(env), custom_context=True, tag=name, buildargs=arguments, rm=True,
            forcerm=True, network_mode="host", decode=True, timeout=BUILD_SECONDS,
        )  # fmt: skip
        for event in stream:
            line = _line(event)
            log.append(line)
            if line.startswith("Step"):
                say(line)
            if "error" in event:
                raise SandboxError(_failure(engine, arguments["BASE"], log))
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise SandboxError(_failure(engine, arguments["BASE"], [*log, str(error)])) from error
    finally:
        api.timeout = CALL_SECONDS
    if not exists(engine, env):
        raise SandboxError(_failure(engine, arguments["BASE"], log))
    return name


def _base(env: str) -> str:
    return BASE.format(environments.wanted_python(env) or "3.11")


def _line(event: dict[str, Any]) -> str:
    for key in ("stream", "error", "status"):
        if key in event:
            return str(event[key]).strip()
    return ""


def _failure(engine: Engine, base: str, log: list[str]) -> str:
    tail = "\n".join([line for line in log if line][-8:])
    return (
        f"{engine.name} could not build the image from {base}:\n{tail}\nWithout a registry, make a"
        " base image with sandbox/scripts/base-image and pass base=NAME."
    )


def _context(env: str) -> io.BytesIO:
    """The build context: the Dockerfile, the lock file, its wheels, certificates. Nothing else."""
    certificates = b""
    for key in CERTIFICATES:
        with contextlib.suppress(KeyError, OSError):
            certificates = Path(os.environ[key]).read_bytes()
            break
    files = {
        "Dockerfile": DOCKERFILE.read_bytes(),
        "requirements.lock": environments.lock_file(env).read_bytes(),
        "certificates.pem": certificates,
    }
    for wheel in sorted((environments.lock_file(env).parent / "wheels").glob("*.whl")):
        files[f"wheels/{wheel.name}"] = wheel.read_bytes()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    packed.seek(0)
    return packed
