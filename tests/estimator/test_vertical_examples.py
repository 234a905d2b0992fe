"""The examples of vertical regression run, and come as near to all columns in one place as they say."""

from __future__ import annotations

import re

import pytest


def number_after(text: str, output: str) -> float:
    (found,) = re.findall(rf"^{re.escape(text)}: (-?[\d.]+)$", output, re.MULTILINE)
    return float(found)


def losses_of(output: str) -> list[float]:
    (found,) = re.findall(r"^loss by epoch: (.+)$", output, re.MULTILINE)
    return [float(loss) for loss in found.split()]


@pytest.mark.long
def test_the_bank_and_the_insurer_are_as_good_encrypted_as_in_one_place(run_example) -> None:
    output = run_example("vertical_credit.py")
    assert "bank 1100 people, insurer 1100, both 924\n" in output
    encrypted = number_after("AUC of the encrypted training", output)
    assert abs(encrypted - number_after("AUC of scikit-learn, all columns in one place", output)) <= 0.005
    assert encrypted > number_after("AUC of scikit-learn, the bank's columns alone", output) + 0.05
    assert len(re.findall(r"0\.[89]\d+", output.split("AUC of 3 folds:")[1].splitlines()[0])) == 3
    losses = losses_of(output)
    assert losses == sorted(losses, reverse=True)


@pytest.mark.long
def test_the_clinic_and_two_registers_are_as_good_encrypted_as_in_one_place(run_example) -> None:
    output = run_example("vertical_diabetes.py")
    encrypted = number_after("R2 of the encrypted training", output)
    assert abs(encrypted - number_after("R2 of scikit-learn, all columns in one place", output)) <= 0.02
    losses = losses_of(output)
    assert losses == sorted(losses, reverse=True)
    assert "- arbiter: decrypt " in output


def test_trees_of_the_clinic_and_the_laboratory_are_as_good_encrypted_as_in_one_place(run_example) -> None:
    output = run_example("vertical_trees.py")
    encrypted = number_after("AUC of the encrypted training", output)
    assert abs(encrypted - number_after("AUC of scikit-learn, all columns in one place", output)) <= 0.01
    assert encrypted > number_after("AUC of scikit-learn, the clinic's columns alone", output)
    assert "- laboratory: " in output
    assert "the guest opens at most" in output


@pytest.mark.long
def test_the_network_of_the_clinic_and_the_laboratory_says_what_the_ledger_says(run_example) -> None:
    output = run_example("vertical_network.py")
    assert number_after("AUC of the encrypted training", output) > 0.95
    assert "16 of 16 of laboratory" in output
