#!/usr/bin/env python3
"""Compares the table of models with the list that LiteLLM publishes: by hand, or in CI before a release.

    python3 tests/eval/models.py [LITELLM_WHEEL_OR_JSON]

Without an argument the wheel comes from PyPI with pip. Prints one line per fact that differs, and ends with 1 if any does.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import zipfile

TABLE = pathlib.Path(__file__).parents[2] / "src/base/config/provider/models.toml"
LIST = "litellm/model_prices_and_context_window_backup.json"
VENDORS = ["openai", "anthropic", "gemini", "deepseek", "moonshot", "zai", "dashscope", "xai", "minimax", "mistral", "meta_llama"]
# A window or reply that is a little smaller than the vendor's is safe.
SMALLER = 0.9
PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "read": "cache_read_input_token_cost",
    "write": "cache_creation_input_token_cost",
}


def published(argument):
    if argument and argument.endswith(".json"):
        return json.loads(pathlib.Path(argument).read_text())
    with tempfile.TemporaryDirectory() as folder:
        if not argument:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "litellm"]
            subprocess.run(pip, check=True)
            argument = next(pathlib.Path(folder).glob("litellm-*.whl"))
        with zipfile.ZipFile(argument) as wheel:
            return json.loads(wheel.read(LIST))


def ours():
    """The rows by name, each with what it takes from the row it is like."""
    # A model's own row goes before that of a family with its name, as in the program.
    rows = sorted(tomllib.loads(TABLE.read_text())["models"], key=lambda row: "name" in row)
    rows = {row.get("name") or row["family"]: row for row in rows}

    def whole(row):
        return {**(whole(rows[row["like"]]) if row.get("like") in rows else {}), **row}

    return {name: whole(row) for name, row in rows.items() if "name" in row}


def theirs(name, listed):
    """The vendor's own entry, not those of others that sell the same model."""
    keys = [name] + [f"{vendor}/{name}" for vendor in VENDORS]
    entry = next((listed[key] for key in keys if key in listed), None)
    # Our prices are those of the usual hours, with a factor for the others.
    return {**entry, **entry.get("off_peak_pricing", {})} if entry else None


def differences(row, entry):
    price = row.get("price", {})
    for kind, field in PRICES.items():
        # Writes and reads that have no price of their own cost what other input costs.
        here, there = (price.get(kind, price.get("input", 0)), (entry.get(field) or entry.get(PRICES["input"]) or 0) * 1e6)
        if there and price and abs(here - there) > 0.001 * there:
            yield f"price.{kind} {here} here, {there:.4g} there"
    window, sent = row.get("window"), entry.get("max_input_tokens")
    fits = lambda here, there: there * SMALLER <= here <= there
    if window and sent and not any(fits(here, sent) for here in (window, row.get("input")) if here):
        yield f"window {window} here, {sent} there"
    if row.get("output") and row["output"] > (entry.get("max_output_tokens") or row["output"]):
        yield f"output {row['output']} here, {entry['max_output_tokens']} there"
    if bool(row.get("images")) != bool(entry.get("supports_vision")):
        yield f"images {bool(row.get('images'))} here, {bool(entry.get('supports_vision'))} there"


def main():
    listed = published(sys.argv[1] if len(sys.argv) > 1 else None)
    found, missing = 0, []
    for name, row in ours().items():
        entry = theirs(name, listed)
        if entry is None:
            missing.append(name)
            continue
        for difference in differences(row, entry):
            found += 1
            print(f"{name}: {difference}")
    print(f"{found} facts differ; LiteLLM does not list: {', '.join(missing) or 'none missing'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
