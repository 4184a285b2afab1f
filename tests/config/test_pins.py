from gaelp.config.pins import pins_file, read_pins


def test_the_pins_of_the_repository_are_read():
    assert read_pins(pins_file())["torch"] == "2.13.0"


def test_comments_and_other_lines_are_passed_over(tmp_path):
    path = tmp_path / "constraints.txt"
    path.write_text(
        "# torch==1\n\nSome_Package==1.2.3  # why\nother==2 ; python_version < '4'\nloose>=3\n-c x.txt\n spaced == 4\n"
    )
    assert read_pins(path) == {"some-package": "1.2.3", "other": "2", "spaced": "4"}
