"""Archives: what they may hold, and what never reaches the disk."""

import io
import tarfile
import zipfile

import pytest

from unseen.loading import archives
from unseen.loading.archives import unpack

GOOD = {"set/classes.txt": b"1 seal\n", "set/deep/er/a.bin": bytes(range(256))}


def make_zip(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def make_tar(path, entries, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, content in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


MAKERS = {
    "zip": make_zip,
    "tar": lambda path, entries: make_tar(path, entries, "w"),
    "tar.gz": make_tar,
    "tar.bz2": lambda path, entries: make_tar(path, entries, "w:bz2"),
}


def everything(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("kind", MAKERS)
def test_a_good_archive_is_unpacked_whole(kind, tmp_path):
    path = MAKERS[kind](tmp_path / f"a.{kind}", GOOD)
    folder = unpack(path, tmp_path / "out")
    assert everything(folder) == ["set/classes.txt", "set/deep/er/a.bin"]
    assert (folder / "set/deep/er/a.bin").read_bytes() == bytes(range(256))
    with pytest.raises(FileExistsError, match="is there already"):
        unpack(path, folder)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    "name",
    ["../evil", "a/../../evil", "/evil", "..", "C:/evil", "a\\..\\..\\evil", "C:evil"],
)
def test_names_that_lead_out_write_nothing(kind, name, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    path = MAKERS[kind](home / "a", {**GOOD, name: b"evil"})
    with pytest.raises(ValueError, match=r"leads out of its folder|Nothing was unpack"):
        unpack(path, home / "out")
    assert everything(tmp_path) == ["home/a"]


@pytest.mark.parametrize("link", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_write_nothing(link, tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("way_out")
        info.type, info.linkname = link, "/etc"
        archive.addfile(info)
        inside = tarfile.TarInfo("way_out/passwd")
        archive.addfile(inside, io.BytesIO())
    with pytest.raises(ValueError, match=r"'way_out', which is a (link|device)"):
        unpack(path, tmp_path / "out")
    assert everything(tmp_path) == ["a.tar"]


def test_a_symbolic_link_in_a_zip_writes_nothing(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("way_out")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc")
    with pytest.raises(ValueError, match="which is a link"):
        unpack(path, tmp_path / "out")
    assert everything(tmp_path) == ["a.zip"]


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_bomb_is_stopped_and_leaves_nothing(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "FREE_BYTES", 1 << 20)
    path = MAKERS[kind](tmp_path / "a", {"zeros": bytes(1 << 25)})
    with pytest.raises(ValueError, match="more than 200 times its size"):
        unpack(path, tmp_path / "out")
    assert everything(tmp_path) == ["a"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_doubled_names_write_nothing(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("A.txt", "1")
        archive.writestr("a.txt", "2")
    with pytest.raises(ValueError, match="twice"):
        unpack(path, tmp_path / "out")
    assert everything(tmp_path) == ["a.zip"]


@pytest.mark.parametrize("kind", MAKERS)
def test_a_damaged_archive_is_one_error_and_leaves_nothing(kind, tmp_path):
    path = MAKERS[kind](tmp_path / "a", {"b": bytes(range(256)) * 4000})
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="the archive is damaged"):
        unpack(path, tmp_path / "out")
    assert everything(tmp_path) == ["a"]
