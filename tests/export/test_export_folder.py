"""An export is used only as it was signed."""

import pytest

from gaelp.approvals.keys import new_key
from gaelp.errors import Refused
from gaelp.export.export_folder import bundle_file, place_export, read_export
from gaelp.registry import Tampered


@pytest.fixture
def placed(tmp_path, exported_agents):
    """A signed export on the disk."""
    export, key = exported_agents.export(3), new_key("test")
    files = {**export.files, "policy-card.md": b"# Policy card"}
    entries = tuple(bundle_file(path, content) for path, content in sorted(files.items()))
    folder = tmp_path / "exports" / "shop" / "3"
    place_export(folder, export.manifest.model_copy(update={"files": entries}), files, key)
    return folder, key, files


def test_what_was_written_is_read_back_and_a_second_export_replaces_it(placed):
    folder, key, files = placed
    read = read_export(folder, key.public_key)
    assert dict(read.files) == files
    place_export(folder, read.manifest, files, key)
    assert [path.name for path in folder.parent.iterdir()] == ["3"]


@pytest.mark.parametrize("name", ["rule.json", "export.json", "export.signature", "policy-card.md"])
def test_a_changed_file_is_named_and_not_used(placed, name):
    folder, key, _ = placed
    (folder / name).write_bytes(b"00" + (folder / name).read_bytes())
    with pytest.raises(Tampered, match=r"export\.json is not what" if name.startswith("export.") else name):
        read_export(folder, key.public_key)


def test_an_export_signed_with_another_key_is_refused(placed):
    with pytest.raises(Tampered, match="not what the registry's key signed"):
        read_export(placed[0], new_key("other").public_key)


def test_a_missing_export_says_how_to_make_one(tmp_path):
    with pytest.raises(Refused, match="gaelp models export 4"):
        read_export(tmp_path / "4", new_key("test").public_key)
