"""No secret of an upload, and no key of a run, comes a second time: not at another party, nor in another run."""

from __future__ import annotations

from collections import defaultdict

import pytest

from hekat.protocol.secure_sum.masked import start_up
from hekat.protocol.secure_sum.masked.opening import opening_schemes
from hekat.protocol.secure_sum.masked.party import MaskedAggregation

SCHEMES = {
    "committee": opening_schemes.CommitteeScheme,
    "authority": opening_schemes.AuthorityScheme,
    "shared": opening_schemes.SharedKeyScheme,
}


@pytest.mark.parametrize("opening", SCHEMES)
def test_two_runs_of_one_job_have_nothing_secret_in_common(
    opening, rehearse_masked, masked_settings, tmp_path, monkeypatch
) -> None:
    """The second run starts from other state folders: even the upload's number is the same."""
    seen: dict[str, list[bytes]] = defaultdict(list)
    of_run: list[tuple[bytes, bytes]] = []
    deal, begin, make_opening_scheme = SCHEMES[opening].deal, MaskedAggregation.__init__, start_up.make_opening_scheme

    def deal_and_keep(self, *arguments):
        dealt = deal(self, *arguments)
        seen["secret"].append(dealt.secret.coefficients.tobytes())
        seen["message"].extend(dealt.messages.values())
        if opening == "shared":
            seen["salt"].append(dealt.salt)
        return dealt

    def begin_and_keep(self, *arguments, digest_key, **others):
        keys[0].add(digest_key)
        begin(self, *arguments, digest_key=digest_key, **others)

    def make_and_keep(settings, shared_key=b"", *others):
        keys[1].add(shared_key)
        return make_opening_scheme(settings, shared_key, *others)

    monkeypatch.setattr(SCHEMES[opening], "deal", deal_and_keep)
    monkeypatch.setattr(MaskedAggregation, "__init__", begin_and_keep)
    monkeypatch.setattr(start_up, "make_opening_scheme", make_and_keep)
    for run in ("first", "second"):
        keys: tuple[set[bytes], set[bytes]] = (set(), set())
        rehearse_masked(masked_settings(3, opening), state_folder=tmp_path / run).run()
        # All parties of a run have one of each.
        ((digest_key,), (shared_key,)) = keys
        of_run.append((digest_key, shared_key))
    assert len(seen["secret"]) == 6
    for values in seen.values():
        assert len(set(values)) == len(values)
    assert of_run[0][0] != of_run[1][0]
    assert (of_run[0][1] != of_run[1][1]) == (opening == "shared")
    for value in (*(key for keys in of_run for key in keys if key), *seen["salt"]):
        assert len(value) == 32
        assert len(set(value)) > 8
