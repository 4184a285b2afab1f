from gaelp.phases.stage_report import EpisodesPlayed, StageReport


def test_episodes_are_counted_over_all_policies_and_markets():
    reports = []
    played = EpisodesPlayed(reports.append, 600)
    for policy, done in (("lin", 256), ("lin", 300), ("mpc", 256), ("mpc", 300)):
        played.add(policy, done, 300)
    assert reports == [StageReport("evaluating", done, 600, "episodes") for done in (0, 256, 300, 556, 600)]
