"""Fixtures shared by all tests."""

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.linalg  # noqa: F401  its BLAS is there before threads are counted
from hypothesis import settings
from threadpoolctl import threadpool_limits

from tests.checks import NudgedGenerator
from unseen.data import ZeroShotData

# How long an example takes depends on who else is using the machine.
settings.register_profile("unseen", deadline=None)
settings.load_profile("unseen")

ROOT = Path(__file__).parents[1]
# Background jobs of scripts and of nohup ignore these; programs that tests start would.
HANGUP = getattr(signal, "SIGHUP", signal.SIGINT)
for number, usual in (
    (signal.SIGINT, signal.default_int_handler),
    (HANGUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # tests that import it themselves


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Keep graphs, features and records of all tests away from the user's."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("UNSEEN_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def chromium():
    """Debian's browser, for tests of pages."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium")
    assert found, "install Debian's chromium, as .ci/run does"
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=quiet)
        yield browser
        browser.close()


if threads := os.environ.get("UNSEEN_TEST_THREADS"):  # more than there are cores, too
    threadpool_limits(int(threads), user_api="blas")
if os.environ.get("UNSEEN_TEST_ULP"):
    usual = np.random.default_rng
    np.random.default_rng = lambda seed=None: NudgedGenerator(usual(seed).bit_generator)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real data beside the checkout; not part of the package."""
    folder = ROOT / ".." / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data beside the checkout is absent")
    return folder.resolve()


@pytest.fixture
def zoo() -> ZeroShotData:
    """Four classes, two tables, six rows; okapi is unseen."""
    names = ["zebra", "seal", "okapi", "otter"]
    rng = np.random.default_rng(0)
    looks = pd.DataFrame(
        rng.normal(size=(4, 2)), index=names, columns=["stripes", "fur"]
    )
    words = pd.DataFrame(rng.normal(size=(4, 3)).astype(np.float32), index=names)
    return ZeroShotData(
        name="zoo",
        X=rng.normal(size=(6, 5)).astype(np.float32),
        y=np.array(["seal", "okapi", "zebra", "otter", "okapi", "zebra"]),
        class_embeddings=pd.concat({"looks": looks, "words": words}, axis=1),
        unseen=np.array(["okapi"]),
    )
