from gaelp.config.suggest import nearest, nearest_key


def test_the_closest_word_is_offered():
    assert nearest("prodution", ["development", "production"]) == " Did you mean production?"
    assert nearest("xyz", ["development", "production"]) == ""


def test_a_key_of_the_same_section_comes_before_the_same_name_elsewhere():
    assert nearest_key("sede", "run", ["name", "seed"], ["other.sede"]) == " Did you mean run.seed?"
    assert nearest_key("seed", "", ["home", "run"], ["run.seed"]) == " Did you mean run.seed?"
    assert nearest_key("hom", "", ["home", "run"], []) == " Did you mean home?"
    assert nearest_key("zzz", "run", ["name"], ["run.name"]) == ""
