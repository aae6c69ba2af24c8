"""Downloads from a local server: good, broken off, changed, hostile."""

import hashlib
import io
import shutil
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import unseen.limits
from unseen.loading.fetch import CATALOGUE, Benchmark, fetch, unpack


def zipped(entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


GOOD = zipped({"set/classes.txt": "1 seal\n", "set/big.bin": bytes(range(256)) * 3000})


def sha256(body):
    return hashlib.sha256(body).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves one body, or a part of it; may stop short, lie, or send elsewhere."""

    body, tag = GOOD, '"one"'
    breaks, status = 0, 200
    longer, elsewhere = 0, 0  # bytes that never come; redirects before the body

    def handle_error(self, request, client_address):
        """Clients hang up when they have seen enough."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        server, wanted = self.server, self.headers.get("Range")
        server.asked.append(wanted)
        if server.status != 200:
            self.send_error(server.status)
            return
        if server.elsewhere > 0:
            server.elsewhere -= 1
            self.send_response(302)
            self.send_header("Location", f"{self.path}/again")
            self.end_headers()
            return
        start = 0
        if wanted and self.headers.get("If-Range") == server.tag:
            start = int(wanted.removeprefix("bytes=").split("-")[0])
        if start > 0 and start >= len(server.body):
            self.send_error(416)
            return
        body = server.body[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) + server.longer))
        self.send_header("ETag", server.tag)
        self.end_headers()
        server.breaks -= 1
        self.wfile.write(body[:100_000] if server.breaks >= 0 else body)

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    with Server(("127.0.0.1", 0), Handler) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def get(server, tmp_path, monkeypatch):
    """Fetch the server's archive into an empty home, with a checksum or none."""

    def get(checksum=None, **options):
        url = f"http://127.0.0.1:{server.server_address[1]}/set.zip"
        entry = Benchmark("t", url, "none", "nobody", checksum, below="set")
        monkeypatch.setitem(CATALOGUE, "set", entry)
        return fetch("set", tmp_path / "home", **options)

    return get


def test_a_good_archive_is_fetched_once_and_unpacked(get, server, tmp_path):
    seen = []
    fetched = get(f"sha256:{sha256(GOOD)}", progress=lambda *n: seen.append(n))
    assert (fetched.folder / "classes.txt").read_text() == "1 seal\n"
    assert fetched.sha256 == sha256(GOOD) and fetched.trust == "checksum"
    assert seen[-1] == (len(GOOD), len(GOOD))
    assert get(f"sha256:{sha256(GOOD)}") == fetched
    assert len(server.asked) == 1
    names = sorted(path.name for path in (tmp_path / "home").iterdir())
    assert names == ["set", "set.sha256", "set.zip"]


@pytest.mark.parametrize("checksum", [f"sha256:{sha256(GOOD)}", None], ids=bool)
def test_an_archive_of_the_user_stays_and_will_do_if_it_is_the_right_one(
    get, server, tmp_path, checksum
):
    theirs = tmp_path / "home" / "set.zip"
    theirs.parent.mkdir()
    theirs.write_bytes(b"years of photos")
    with pytest.raises(FileExistsError, match=r"set\.zip is there already"):
        get(checksum)
    assert theirs.read_bytes() == b"years of photos"
    theirs.write_bytes(GOOD)
    assert get(f"md5:{hashlib.md5(GOOD).hexdigest()}").trust == "checksum"
    assert server.asked == []


def test_without_a_checksum_the_first_is_trusted_and_the_next_must_match(
    get, server, tmp_path
):
    assert get().trust == "first use"
    home = tmp_path / "home"
    assert (home / "set.sha256").read_text() == sha256(GOOD)
    (home / "set.zip").unlink()
    server.body, server.tag = zipped({"set/classes.txt": "1 wolf\n"}), '"two"'
    with pytest.raises(ValueError, match="not what was expected"):
        get()
    assert (home / "set" / "set" / "classes.txt").read_text() == "1 seal\n"
    with pytest.raises(FileExistsError, match="set already exists"):
        get(sha256=sha256(server.body))
    shutil.rmtree(home / "set")
    assert get(sha256=sha256(server.body)).sha256 == sha256(server.body)


def test_a_broken_download_goes_on_where_it_stopped(get, server):
    server.breaks = 5
    with pytest.raises(OSError, match=r"broke off after 300000 bytes.*Run it again"):
        get(f"sha256:{sha256(GOOD)}")
    assert get(f"sha256:{sha256(GOOD)}").sha256 == sha256(GOOD)
    assert server.asked[:3] == [None, "bytes=100000-", "bytes=200000-"]
    assert server.asked[-1] == "bytes=500000-"


def test_a_file_that_changed_meanwhile_starts_anew(get, server):
    server.breaks = 3
    with pytest.raises(OSError, match="broke off"):
        get()
    server.body, server.tag = zipped({"set/classes.txt": "1 wolf\n"}), '"two"'
    assert (get().folder / "classes.txt").read_text() == "1 wolf\n"


def test_a_dead_link_is_said_at_once(get, server):
    server.status = 404
    with pytest.raises(OSError, match="the server says 404"):
        get()
    assert len(server.asked) == 1


def test_corrupted_bytes_are_thrown_away(get, server, tmp_path):
    server.body = GOOD[:5000] + b"?" + GOOD[5001:]
    with pytest.raises(ValueError, match="not what was expected: its hash is not"):
        get(f"sha256:{sha256(GOOD)}")
    assert not (tmp_path / "home" / "set").exists()
    assert not list((tmp_path / "home").glob("*.part"))
    server.body = GOOD
    assert get(f"sha256:{sha256(GOOD)}").sha256 == sha256(GOOD)


def test_what_is_asked_for_must_make_sense(get, tmp_path):
    with pytest.raises(ValueError, match="There is no benchmark 'x'"):
        fetch("x", tmp_path)
    with pytest.raises(ValueError, match="is not a SHA-256"):
        get(sha256="abc")


def make_tar(path, entries, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def make_zip(path, entries):
    path.write_bytes(zipped(entries))
    return path


KINDS = pytest.mark.parametrize("make", [make_zip, make_tar])


def everything(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@KINDS
def test_an_archive_is_unpacked_whole(make, tmp_path):
    path = make(tmp_path / "a", {"set/a.txt": b"1", "set/deep/er/b": bytes(range(256))})
    folder = unpack(path, tmp_path / "out")
    assert {"set/a.txt", "set/deep/er/b"} <= set(everything(folder))
    assert (folder / "set/deep/er/b").read_bytes() == bytes(range(256))
    with pytest.raises(FileExistsError, match="already exists"):
        unpack(path, folder)


@KINDS
@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/evil", "C:/evil", "a\\..\\..\\evil"]
)
def test_names_that_lead_out_write_nothing(make, name, tmp_path):
    (tmp_path / "home").mkdir()
    path = make(tmp_path / "home" / "a", {"good": b"1", name: b"evil"})
    with pytest.raises(ValueError, match="leads out of its folder"):
        unpack(path, tmp_path / "home" / "out")
    assert everything(tmp_path) == ["home/a"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_out_of_a_tar_and_devices_write_nothing(kind, tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("way_out")
        info.type, info.linkname = kind, "/etc"
        archive.addfile(info)
        archive.addfile(tarfile.TarInfo("way_out/passwd"), io.BytesIO())
    with pytest.raises(ValueError, match=r"a\.tar: the archive is damaged"):
        unpack(path, tmp_path / "out")
    assert everything(tmp_path) == ["a.tar"]


@KINDS
def test_a_bomb_is_refused(make, tmp_path, monkeypatch):
    small = unseen.limits.LIMITS._replace(unpacked_free=1 << 10, unpacked_ratio=0)
    monkeypatch.setattr(unseen.limits, "LIMITS", small)
    path = make(tmp_path / "a", {"zeros": bytes(1 << 12)})
    with pytest.raises(ValueError, match="would unpack to 4096"):
        unpack(path, tmp_path / "out")
    assert everything(tmp_path) == ["a"]


@KINDS
def test_a_damaged_archive_is_one_error_and_leaves_nothing(make, tmp_path):
    path = make(tmp_path / "a", {"b": bytes(range(256)) * 4000})
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ValueError, match="the archive is damaged"):
        unpack(path, tmp_path / "out")
    assert everything(tmp_path) == ["a"]
