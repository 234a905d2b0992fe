"""What encryption costs the demo: five hospitals, encrypted over plain time, sealed bytes over float32."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from hekat.launch.horizontal.run import run_job
from hekat.run.horizontal.load_inputs import load_inputs
from measuring.record import machine, write_results

JOB = Path(__file__).parents[1] / "examples" / "hospitals" / "job.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    inputs = load_inputs(JOB)
    with tempfile.TemporaryDirectory() as folder:
        summaries = [run_job(inputs, Path(folder)).summary for _ in range(options.repeats)]
    for summary in summaries:
        assert all(check["largest_error"] <= check["bound"] for check in summary["exactness"])
    first = summaries[0]

    def median(*path: str) -> float:
        found = []
        for summary in summaries:
            value = summary
            for key in path:
                value = value[key]
            found.append(float(value))
        return statistics.median(found)

    row = {
        "what": f"demo: {len(first['parties'])} hospitals, {len(first['rounds']['encrypted'])} rounds, "
        f"{first['settings']['protection']} {first['settings'].get('parameter_set', '')}, "
        f"{first['bytes']['update_values']} parameters",
        "encrypted_s": median("seconds", "encrypted"),
        "key_s": median("seconds", "key"),
        "plain_s": median("seconds", "plain"),
        "time_ratio_without_key": median("seconds", "ratio"),
        "update_sealed_bytes": first["bytes"]["update_sealed"],
        "update_float32_bytes": first["bytes"]["float32_per_update"],
        "to_openers_sealed_bytes": first["bytes"]["to_openers_sealed"],
        "bytes_ratio": first["bytes"]["ratio_to_float32"],
        "metric_difference": first["difference"],
        "convergence_bias": first["convergence_bias"],
        **{f"{step}_s": median("seconds_by_step", step) for step in first["seconds_by_step"]},
    }
    print(machine())
    for name, value in row.items():
        print(f"  {name:<24} {value:.6g}" if isinstance(value, float) else f"  {name:<24} {value}")
    print(write_results("demo", [row]))


if __name__ == "__main__":
    main()
