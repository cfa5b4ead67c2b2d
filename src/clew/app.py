"""The composition root: what the process was given goes in, open services come out.

The only reader of the environment.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clew.adapters.home import Home, find_home
from clew.errors import ClewError
from clew.settings import Loaded, Settings, interface_language, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from clew.adapters.git import Git, NoRepository
    from clew.adapters.memory_repository import MemoryRepository
    from clew.adapters.models.catalogue import Catalogue
    from clew.adapters.models.endpoints import Endpoint
    from clew.adapters.workspace import Workspace
    from clew.core.context.mode import Mode
    from clew.core.memory.hits import Hit
    from clew.core.ports import Model
    from clew.services.afterwards import Afterwards
    from clew.services.agent_room import AgentRoom
    from clew.services.context import Place, Wish
    from clew.services.hinting import Hinter
    from clew.services.memory import Memory
    from clew.services.memory_source import MemorySource
    from clew.services.run import Limits
    from clew.services.session_search import SessionSearch
    from clew.stores.audit import Audit
    from clew.stores.exchanges import ExchangeStore


def environment() -> Mapping[str, str]:
    """The environment of this process."""
    return os.environ


def user_language(environ: Mapping[str, str]) -> str:
    """`en` or `zh`, also where the configuration is broken: for messages about just that."""
    try:
        # Below this path lies no project file, and no project may set the language.
        return interface_language(load_settings(environ, Path(os.devnull)).settings, environ)
    except ClewError:
        wanted = environ.get("CLEW_LANG", "").lower()
        return "zh" if wanted.startswith("zh") else interface_language(Settings(), environ)


@dataclass
class App:
    """Everything that one command needs, made when it is first asked for."""

    environ: Mapping[str, str]
    cwd: Path
    flags: Mapping[str, object]

    @classmethod
    def here(cls, flags: Mapping[str, object] | None = None) -> App:
        """The application for the current folder. Raises NotFound when that folder is gone."""
        from clew.errors import NotFound  # only needed where the folder is gone

        try:
            cwd = Path.cwd()
        except FileNotFoundError as error:
            raise NotFound("the current folder does not exist any more", hint="change to another folder") from error
        return cls(environment(), cwd, flags or {})

    @cached_property
    def home(self) -> Home:
        """The user's folders."""
        return find_home(self.environ)

    @cached_property
    def git(self) -> Git | NoRepository:
        """The repository around the current folder."""
        from clew.adapters.git import find_repository  # heavy; not every command asks git

        return find_repository(self.cwd, self.environ)

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace around the current folder."""
        from clew.adapters.workspace import resolve  # heavy, as above

        return resolve(self.cwd, self.home, self.git)

    @cached_property
    def loaded(self) -> Loaded:
        """Settings with their origins."""
        return load_settings(self.environ, self.workspace.root, self.flags)

    @property
    def language(self) -> str:
        """`en` or `zh`."""
        return interface_language(self.loaded.settings, self.environ)

    @property
    def locale(self) -> str:
        """`language`, also where a configuration file is broken."""
        return user_language(self.environ)

    @cached_property
    def place(self) -> Place:
        """Where questions are asked."""
        from clew.services.code_index import index_path, searches_path, watcher_path  # heavy, as above
        from clew.services.context import Place

        workspace = self.workspace
        index = index_path(self.home, workspace.id, workspace.root)
        searches = searches_path(index) if self.loaded.settings.cache else None
        watcher = watcher_path(self.home, index)
        memory = None if self.loaded.settings.memory_scope == "none" else self._memory_source()
        return Place(workspace, self.git, self.cwd, self.environ, index, watcher, searches, memory=memory)

    def _memory_source(self) -> MemorySource | None:
        """What is remembered, for questions; None where nothing is."""
        if not (self.home.data / "memory").is_dir():
            return None
        from clew.core.context.fragment import DEFAULT_WEIGHTS  # heavy, as above
        from clew.services.memory_source import MemorySource

        personal = self.loaded.settings.memory_scope == "all"

        def search(question: str) -> Sequence[Hit]:
            memory = self.memory()
            # What was said to the agent is no context of a question.
            memory.sessions = None
            return memory.recall(question, chosen=memory.own(personal=personal)).hits

        def read(ref: str) -> str:
            memory = self.memory()
            try:
                return memory.documents.read_whole(memory.find(ref).path).body.strip()
            except ClewError:
                return ""

        return MemorySource(
            hints=lambda question: self.hinter().hints(question).recalled.hints,
            search=search,
            weight=self.loaded.settings.weights.get("memory", DEFAULT_WEIGHTS["memory"]),
            read=read,
        )

    def exchanges(self) -> ExchangeStore:
        """The history of exchanges. Notes which workspace this folder is, for a day without git. Raises StoreError."""
        from clew.adapters.workspace import remember  # heavy, as above
        from clew.stores.exchanges import ExchangeStore

        store = ExchangeStore(self.home.data / "history.db")
        remember(self.workspace, self.home)
        return store

    @cached_property
    def redactor(self) -> Callable[[str], str]:
        """Takes secrets out of a text; equal ones leave equal marks, by the key of this installation."""
        from clew.core.text.together import Redactor  # heavy, as above
        from clew.stores.installation_key import installation_key

        return Redactor(installation_key(self.home.data / "redaction.key"))

    @cached_property
    def audit(self) -> Audit:
        """The trail of what memory did."""
        from clew.stores.audit import Audit  # heavy, as above

        return Audit(self.home.data / "audit", self.redactor)

    def memory(self, session: str = "") -> Memory:
        """The memory of this workspace and of the user; nothing is made before something is written."""
        from datetime import datetime  # heavy, as above

        from clew.adapters.memory_git import MemoryGit
        from clew.adapters.workspace import remember
        from clew.services.memory import Memory
        from clew.stores.documents import Documents

        root = self.home.data / "memory"
        remember(self.workspace, self.home)
        return Memory(
            documents=Documents(root, redact=self.redactor),
            index_path=self.home.cache / "index" / "memory.db",
            audit=self.audit,
            git=MemoryGit(root, self.environ, finish=_finish_sync, around=self.cwd),
            workspace=self.workspace.id,
            clock=lambda: datetime.now().astimezone(),
            branch=self._branch(),
            session=session,
            follow=lambda paths: self.afterwards().follow(paths),
            sessions=self.session_search(session),
        )

    def session_search(self, session: str = "") -> SessionSearch:
        """Searches the agent's sessions, as the session of that id does."""
        from datetime import datetime  # heavy, as above

        from clew.services.session_search import SessionSearch, sessions_index_path
        from clew.stores.transcripts import Transcripts

        return SessionSearch(
            transcripts=Transcripts(self.home.data / "sessions", self.redactor),
            path=sessions_index_path(self.home),
            redact=self.redactor,
            audit=self.audit,
            workspace=self.workspace.id,
            clock=lambda: datetime.now().astimezone(),
            session=session,
        )

    def hinter(self) -> Hinter:
        """Hints for messages in this workspace."""
        from datetime import datetime  # heavy, as above

        from clew.services.hinting import Hinter
        from clew.stores.documents import Documents

        return Hinter(
            documents=Documents(self.home.data / "memory", redact=self.redactor),
            cache=self.home.cache,
            data=self.home.data,
            audit=self.audit,
            workspace=self.workspace.id,
            clock=lambda: datetime.now().astimezone(),
            branch=self._branch,
            personal=self.loaded.settings.memory_scope == "all",
        )

    def afterwards(self) -> Afterwards:
        """What follows a write to memory, and nobody waits for."""
        from clew.adapters.detached import start  # heavy, as above
        from clew.adapters.git_process import apart
        from clew.services.afterwards import Afterwards
        from clew.stores.documents import Documents

        return Afterwards(
            Documents(self.home.data / "memory", redact=self.redactor),
            self.home.cache / "index" / "memory.db",
            self.hinter,
            start=lambda: start("clew.entrypoints.afterwards", apart(self.environ, self.cwd), self.home.data),
        )

    def agent_room(self, *, yes: bool = False, rules: Sequence[str] = ()) -> AgentRoom:
        """Where sessions of the agent are held. Raises UsageError for a rule that is none."""
        from datetime import datetime  # heavy, as above

        from clew.core.agent.permissions import rule_of
        from clew.services.agent_room import AgentRoom
        from clew.services.handoff import Handoff
        from clew.services.sessions import Ground
        from clew.stores.approvals import Approvals
        from clew.stores.transcripts import Transcripts

        workspace, shell = self.workspace, self.environ.get("SHELL") or self.environ.get("COMSPEC", "")
        ground = Ground(
            workspace=workspace.id, name=workspace.name, root=workspace.root, cwd=self.cwd,
            memory=self.home.data / "memory", shell=os.path.basename(shell), branch=self._branch(),
            redact=self.redactor, clock=lambda: datetime.now().astimezone(),
        )  # fmt: skip
        return AgentRoom(
            ground=ground,
            transcripts=Transcripts(self.home.data / "sessions", self.redactor),
            memory=self.memory,
            handoff=lambda session: Handoff(self.memory(session)),
            sessions=self.session_search,
            hinter=self.hinter,
            environ=self.environ,
            redact=self.redactor if self.loaded.settings.redact else lambda text: text,
            ignore=self.loaded.settings.ignore,
            lsp=self.loaded.settings.lsp,
            rules=[rule_of(rule) for rule in (*self.loaded.settings.allow, *rules)],
            threshold=self.loaded.settings.handoff_at,
            yes=yes,
            approvals=Approvals(self.home.data),
            servers=self.loaded.settings.mcp_servers,
            server_wait=self.loaded.settings.mcp_wait,
            server_timeout=self.loaded.settings.mcp_timeout,
        )

    def agent_limits(self, endpoint: Endpoint, steps: int | None = None) -> Limits:
        """What a run of the agent may use, as the settings say; `steps` over them."""
        from clew.services.agent_room import limits_of  # heavy, as above

        settings = self.loaded.settings
        return limits_of(endpoint, answer=settings.answer_tokens, steps=steps or settings.steps, window=settings.window)

    def _branch(self) -> str:
        from clew.adapters.git import Git  # heavy, as above

        return (self.git.head().branch or "") if isinstance(self.git, Git) else ""

    @property
    def left_behind(self) -> str:
        """The id that this workspace had before, where notes lie under that and none under the present one yet."""
        memory = self.home.data / "memory" / "workspaces"
        if self._has_notes:
            return ""
        return next((one for one in self.workspace.formers if (memory / one).is_dir()), "")

    @property
    def may_be(self) -> str:
        """The folder that this one may be under another name, where notes lie under that and none here yet."""
        return "" if self._has_notes else self.workspace.maybe

    @property
    def _has_notes(self) -> bool:
        return (self.home.data / "memory" / "workspaces" / self.workspace.id / "notes").exists()

    @cached_property
    def catalogue(self) -> Catalogue:
        """The models that may answer."""
        from clew.adapters.models.catalogue import Catalogue  # heavy, as above

        settings = self.loaded.settings
        return Catalogue(
            self.environ, default=settings.model, endpoints=settings.endpoints, timeout=settings.timeout,
            thinking=settings.thinking,
        )  # fmt: skip

    def model(self) -> Model | None:
        """The model that answers; None where none is chosen. Raises ModelError, ConfigError."""
        return self.catalogue.open(self.loaded.settings.model) if self.loaded.settings.model else None

    def wish(
        self, question: str, names: Sequence[str] = (), stdin: BinaryIO | None = None, mode: Mode | None = None
    ) -> Wish:
        """A question, treated as the settings say."""
        from clew.core.context.fences import clean  # heavy, as above
        from clew.services.context import Wish

        settings = self.loaded.settings
        return Wish(
            # What a shell hands on need not be UTF-8; nothing behind this point takes anything else.
            question=clean(question),
            names=tuple(names),
            stdin=stdin,
            context=settings.context,
            mode=mode,
            model=settings.model or "",
            max_tokens=settings.max_tokens,
            answer=settings.answer_room,
            style=settings.style,
            language=self.language,
            weights=settings.weights,
            anchors=tuple((anchor.path, anchor.weight) for anchor in settings.anchors),
            ignore=settings.ignore,
            shell_history=settings.shell_history,
            redacts=settings.redact,
        )

    @cached_property
    def terminal(self) -> str:
        """A name for this terminal: stable within it, different in another one."""
        if named := self.environ.get("CLEW_THREAD"):
            # The name is kept with each exchange, whatever somebody put into it.
            return self.redactor(named)
        parts = [self.environ.get(name, "") for name in ("TMUX_PANE", "TERM_SESSION_ID", "WT_SESSION", "WINDOWID")]
        if hasattr(os, "getsid"):
            parts.append(str(os.getsid(0)))
        for stream in (sys.stdin, sys.stderr, sys.stdout):
            try:
                parts.append(os.ttyname(stream.fileno()))
                break
            except (OSError, ValueError, AttributeError):
                continue
        return "t-" + hashlib.blake2b("\0".join(parts).encode(), digest_size=5).hexdigest()


def _finish_sync(repository: MemoryRepository) -> None:
    """End a sync of the memory that was killed."""
    from clew.services.sync_recovery import finish  # heavy, and hardly ever needed

    finish(repository)
