"""The example that a tutorial shows runs as it stands."""


def test_example_prints_what_its_comments_promise(run_example):
    array, answer, votes = run_example("arrays.py").splitlines()
    assert "3072-bit key" in array
    assert answer == "[2.135 2.205]"
    assert votes == "[60 62 64 66 68] from 2 ciphertexts"
