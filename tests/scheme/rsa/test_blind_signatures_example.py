"""The example that a tutorial shows runs as it stands."""


def test_example_finds_the_shared_ids(run_example):
    assert run_example("blind_signatures.py") == "['grace', 'ada']\n"
