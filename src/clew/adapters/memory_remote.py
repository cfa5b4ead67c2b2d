"""Fetch and push of the memory root: the only commands here that reach the network, and only when the user asks.

Credentials are git's own, from its helpers, keys and agents. Nobody is asked on the terminal, and ssh is told so.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from typing import Final

from clew.adapters.git_process import stop
from clew.adapters.memory_repository import PRIVATE, MemoryRepository, named_lock, wait_for
from clew.core.text.printable import printable
from clew.errors import ClewError, ConfigError, NotFound, Refused, StoreBusy, StoreError
from clew.system import open_file

REMOTE: Final = "origin"
_SECONDS: Final = 120.0
_NAMES: Final = (
    "fullPathname", "hasDot", "hasDotdot", "hasDotgit", "gitmodulesBlob", "gitmodulesLarge", "gitmodulesMissing",
    "gitmodulesName", "gitmodulesParse", "gitmodulesPath", "gitmodulesSymlink", "gitmodulesUpdate", "gitmodulesUrl",
    "gitattributesBlob", "gitattributesLarge", "gitattributesLineLength", "gitattributesMissing",
    "gitattributesSymlink", "gitignoreSymlink", "mailmapSymlink",
)  # fmt: skip
"""What git finds wrong with names and with files that steer it: none of these is written to the folder, so that one
of them need not keep all the rest away."""
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=",
    "core.alternateRefsCommand=",
    "core.quotePath=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.fsckObjects=true",
    *(f"fetch.fsck.{name}=ignore" for name in _NAMES),
    "fetch.prune=false",
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "protocol.ext.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "color.ui=false",
)


class MemoryRemote:
    """The other side of a memory repository. Raises StoreBusy for what may pass, other errors for what does not."""

    def __init__(self, repository: MemoryRepository, *, seconds: float = _SECONDS) -> None:
        self._repository = repository
        self._seconds = seconds

    @property
    def url(self) -> str:
        """The address; empty where there is none."""
        return self._repository.setting(f"remote.{REMOTE}.url")

    @contextlib.contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """Exchange alone: two processes of one memory would only hinder each other.

        Raises StoreBusy where it takes longer than `seconds` until the others are done, StoreError.
        """
        place = self._repository.folder / PRIVATE / "syncing"
        try:
            descriptor = open_file(place, "make")
        except OSError as error:
            raise StoreError(f"{place} cannot be written: {error.strerror}", hint="check its rights") from error
        try:
            wait_for(descriptor, seconds, f"another sync of this memory is not done after {seconds:.0f} s")
            yield
        finally:
            os.close(descriptor)

    def fetch(self, branch: str) -> tuple[str, str]:
        """Fetch all branches. The name of the one that belongs to `branch`, and its commit: empty where there is none.

        That is the one of the same name, else the one that the other side calls its own.
        """
        if not self.url:
            raise ConfigError("the memory has no remote", hint="`clew sync init --remote URL` names one")
        self._run("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", REMOTE, f"+refs/heads/*:{_TRACKED}*")
        names = self._repository.line("for-each-ref", "--format=%(refname)", _TRACKED).split()
        known = {name.removeprefix(_TRACKED) for name in names} - {"HEAD"}
        if branch not in known and known:
            said = os.fsdecode(self._run("ls-remote", "--symref", REMOTE, "HEAD"))
            found = re.match(r"ref: refs/heads/(\S+)\tHEAD", said)
            branch = found[1] if found and found[1] in known else branch
        return branch, self._repository.resolve(_TRACKED + branch)

    def push(self, commit: str, branch: str) -> bool:
        """Bring a commit over. False where the other side has gone on meanwhile."""
        try:
            self._run("push", "--quiet", "--no-verify", "--porcelain", REMOTE, f"{commit}:refs/heads/{branch}")
        except _Rejected:
            return False
        return True

    def replace(self, commit: str, branch: str, there: str) -> bool:
        """Put a commit in the place of another history, where that still ends with `there`. False where it does not."""
        lease = f"--force-with-lease=refs/heads/{branch}:{there}"
        try:
            self._run("push", "--quiet", "--no-verify", "--porcelain", lease, REMOTE, f"{commit}:refs/heads/{branch}")
        except _Rejected:
            return False
        return True

    def _run(self, *arguments: str) -> bytes:
        repository = self._repository
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        line = [repository.command.program, "--no-pager", *settings, *arguments]
        try:
            process = subprocess.Popen(
                line,
                cwd=repository.root,
                env={**repository.environ, **self._ssh(), "SSH_ASKPASS_REQUIRE": "never"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise StoreError(f"git {arguments[0]}: {error.strerror}", hint="check the disk") from error
        try:
            output, errors = process.communicate(timeout=self._seconds)
        except subprocess.TimeoutExpired:
            raise StoreBusy(
                f"nothing came from the remote for {self._seconds:.0f} s", hint="everything is kept here; try again"
            ) from None
        finally:
            # With all that it started: ssh would go on.
            stop(process)
        if process.returncode:
            raise _failure(arguments[0], os.fsdecode(errors), os.fsdecode(output), self.url)
        return output

    def _ssh(self) -> dict[str, str]:
        """The user's own way to run ssh, told to ask nothing."""
        command = self._repository.setting("core.sshCommand") or "ssh"
        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        if words and os.path.basename(words[0]) == "ssh":
            return {"GIT_SSH_COMMAND": f"{command} -o BatchMode=yes", "GIT_SSH_VARIANT": "ssh"}
        return {"GIT_SSH_COMMAND": command}


_TRACKED: Final = f"refs/remotes/{REMOTE}/"


class _Rejected(StoreBusy):
    """The remote has gone on meanwhile"""


def check_url(url: str) -> str:
    """An address that may be kept in a configuration. Raises Refused."""
    wanted = url.strip()
    if not wanted or wanted.startswith("-") or "::" in wanted or printable(wanted) != wanted:
        raise Refused(
            f"`{printable(url, 80)}` is no address of a repository", hint="such as git@example.org:me/memory.git"
        )
    if re.match(r"[A-Za-z][\w+.-]*://[^/@]*:[^/@]*@", wanted):
        raise Refused("an address with a password is not kept", hint="let a credential helper of git keep it")
    return wanted


_CAUSES: Final = (
    (
        r"\[rejected\]|\[remote rejected\].*(?:cannot lock|fetch first)|non-fast-forward|failed to update ref",
        "rejected",
    ),
    (r"\[remote rejected\]|pre-receive hook declined|protected branch|push declined", "refused"),
    (
        r"could not read (?:Username|Password)|terminal prompts disabled|Authentication failed|Permission denied"
        r"|access denied|HTTP 40[13]|error: 40[13]|Invalid username or password",
        "rights",
    ),
    (r"Host key verification failed", "host"),
    (r"cannot run ssh|ssh: (?:command )?not found", "ssh"),
    (
        r"Could not resolve|Connection (?:refused|timed out|reset|closed)|Network is unreachable|No route to host"
        r"|Failed to connect|Operation timed out|unable to access|early EOF|hung up unexpectedly",
        "network",
    ),
    (r"not appear to be a git repository|Repository not found|does not exist|not found|No such file", "missing"),
)


def _failure(command: str, errors: str, output: str, url: str) -> ClewError:
    """What a command that failed means."""
    said = f"{output}\n{errors}"
    cause = next((name for shape, name in _CAUSES if re.search(shape, said, re.IGNORECASE)), "")
    shown = printable(re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", url), 120)
    kept = "everything is kept here; try again when it can be reached"
    if cause == "rejected":
        return _Rejected()
    if cause == "lock":
        hint = "if no git runs there, delete that file; nothing is lost"
        return StoreBusy(f"a lock of git stands in the way: {named_lock(errors)}", hint=hint)
    if cause == "refused":
        return Refused(f"{shown} takes no push to this branch", hint="look at the rules of that repository")
    if cause == "rights":
        return Refused(
            f"{shown} lets nobody in without credentials", hint=f"`git ls-remote {shown}` must work by itself"
        )
    if cause == "ssh":
        return NotFound(
            f"{shown} is reached by ssh, which is not installed", hint="install ssh, or use another address"
        )
    if cause == "host":
        return Refused(
            f"{shown} is a host that ssh does not know", hint="connect to it once by ssh, and look at its key"
        )
    if cause == "network":
        return StoreBusy(f"{shown} cannot be reached", hint=kept)
    if cause == "missing":
        return NotFound(f"there is no repository at {shown}", hint="make an empty one there, or correct the address")
    words = printable(" ".join(errors.split()), 300)
    return StoreError(f"git {command}: {words}", hint=kept)
