"""SWE-bench predictions from a batch: `predict.py TASKS.jsonl OUT.jsonl [-- mycode options]`.

Each line of TASKS has `instance_id`, `problem_statement` and `folder`, a checkout at its base commit below the
current folder. Runs `mycode exec --each` and writes one prediction a task. Tests and scratch files stay out of the patch.
"""

import json
import os
import subprocess
import sys

LEFT_OUT = [":(exclude)*test*/**", ":(exclude)**/test_*", ":(exclude)**/*_test.*", ":(exclude)**/conftest.py",
            ":(exclude)**/reproduce*", ":(exclude).mycode/**"]
MYCODE = os.environ.get("MYCODE", "mycode")


def main() -> int:
    options = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    tasks_file, out_file = sys.argv[1:3]
    with open(tasks_file) as lines:
        tasks = [json.loads(line) for line in lines if line.strip()]
    batch = out_file + ".batch"
    with open(batch, "w") as out:
        for task in tasks:
            row = {"id": task["instance_id"], "prompt": task["problem_statement"], "dir": os.path.relpath(task["folder"])}
            out.write(json.dumps(row) + "\n")
    results = out_file + ".results.jsonl"
    subprocess.run([MYCODE, "exec", "--each", batch, "--results", results, *options], check=False)
    with open(results) as lines:
        rows = [json.loads(line) for line in lines]
    branches = {row["id"]: row.get("branch") for row in rows}
    name = options[options.index("--model") + 1] if "--model" in options else "mycode"
    with open(out_file, "w") as out:
        for task in tasks:
            # Each task has worked in a worktree on a branch of its own.
            branch = branches.get(task["instance_id"])
            diff = ["git", "-C", task["folder"], "diff", f"HEAD...{branch}", "--", ".", *LEFT_OUT]
            patch = subprocess.run(diff, capture_output=True, text=True, check=False).stdout if branch else ""
            row = {"instance_id": task["instance_id"], "model_patch": patch, "model_name_or_path": f"mycode-{name}"}
            out.write(json.dumps(row) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
