"""The example that a tutorial shows runs as it stands."""


def test_example_prints_what_its_comments_promise(run_example):
    array, answer, by_group, votes = run_example("arrays.py").splitlines()
    assert "3072-bit key" in array
    assert answer == "[2.135 2.205]"
    assert by_group == "[5.22 5.13 0.  ]"
    assert votes == "[60 62 64 66 68] from 2 ciphertexts"
