import inspect
import re

from gaelp import errors

TREE_LINE = re.compile(r"^    (?P<indent>[ │├└─]*)(?P<name>[A-Z]\w+) +(?P<code>\d) +\S", re.MULTILINE)
DRAWN_STEP = 4


def drawn_tree() -> dict[str, tuple[str, int]]:
    """Each class drawn in the docstring, with its parent and exit code."""
    tree, ancestors = {}, []
    for line in TREE_LINE.finditer(errors.__doc__):
        del ancestors[len(line["indent"]) // DRAWN_STEP :]
        tree[line["name"]] = (ancestors[-1] if ancestors else "Exception", int(line["code"]))
        ancestors.append(line["name"])
    return tree


def real_tree() -> dict[str, tuple[str, int]]:
    classes = inspect.getmembers(errors, lambda member: inspect.isclass(member) and issubclass(member, Exception))
    return {name: (error.__bases__[0].__name__, error.exit_code) for name, error in classes}


def test_the_tree_in_the_docstring_is_the_real_one():
    assert drawn_tree() == real_tree()


def test_every_error_is_public_and_explained():
    assert sorted(real_tree()) == sorted(errors.__all__) == errors.__all__
    assert all(getattr(errors, name).__doc__ for name in errors.__all__)


def test_exit_codes_are_those_the_command_line_promises():
    assert {code for _, code in real_tree().values()} == {1, 2, 3, 4}
    assert all(issubclass(getattr(errors, name), errors.GaelpError) for name in real_tree())
