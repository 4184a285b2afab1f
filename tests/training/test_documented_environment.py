"""What docs/training.md says about other environments runs as it is written."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def test_the_documented_way_to_another_environment_learns_and_goes_on(tmp_path, monkeypatch, capsys):
    [code] = re.findall(r"## Another environment.*?```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - the page is part of the project
    said = capsys.readouterr().out.splitlines()
    lines = "\n".join(said)
    rewards = [
        float(reward) for reward in re.findall(r"^Round \d+: validation reward (\d+\.\d+)\.", lines, re.MULTILINE)
    ]
    assert len(rewards) == 2
    assert rewards[-1] >= 100  # random actions balance the pole for about 22 steps
    assert said[-1].startswith("Finished after round 10: 10 rounds are done. The best checkpoint is ")
    exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102 - as above
    assert capsys.readouterr().out.splitlines()[0].startswith("Resumed after round 10 from")
