"""Several processes come to a file that nobody has made yet: each waits for the one that makes it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clew.services.code_index import open_index
from clew.stores.exchanges import ExchangeStore


def an_index(path: Path) -> int:
    with open_index(path) as index:
        return index.counts()["files"]


def a_history(path: Path) -> int:
    with ExchangeStore(path, busy_seconds=60) as store:
        return len(store.list("w"))


@pytest.mark.requirement("P-01")
@pytest.mark.parametrize("opened", [an_index, a_history])
def test_who_comes_while_another_process_makes_the_file_waits_for_it(
    tmp_path: Path, opened: Callable[[Path], int]
) -> None:
    path = tmp_path / "new.db"
    maker = sqlite3.connect(path, isolation_level=None)
    # As it stands while another process switches to the log, or makes the tables: the file is there and held.
    maker.execute("begin immediate")
    maker.execute("create table held (word text)")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(opened, path)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.5)
        maker.execute("rollback")
        assert waiting.result(timeout=60) == 0
    maker.close()


@pytest.mark.requirement("P-01")
def test_who_only_opens_an_index_waits_for_nobody_who_writes(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    assert an_index(path) == 0
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("begin immediate")
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(an_index, path).result(timeout=30) == 0
    writer.close()
