"""Drives the adapter with Harbor's own classes against a stand-in for its environment: `drive.py MYCODE BASE_URL FOLDER LOGS`."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import mycode_agent  # noqa: E402
from harbor.models.agent.context import AgentContext  # noqa: E402
from harbor.models.trajectories import Trajectory  # noqa: E402

MYCODE, BASE_URL, FOLDER, LOGS = sys.argv[1:5]
mycode_agent.LOGS = LOGS


class Result:
    def __init__(self, done: subprocess.CompletedProcess):
        self.stdout, self.stderr, self.return_code = done.stdout, done.stderr, done.returncode


class Environment:
    default_user = None

    async def exec(self, command, env=None, **_):
        path = os.path.dirname(MYCODE) + ":" + os.environ["PATH"]
        variables = {**os.environ, **(env or {}), "PATH": path}
        return Result(subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=FOLDER, env=variables, capture_output=True, text=True))


async def main() -> None:
    agent = mycode_agent.MyCode(
        logs_dir=Path(LOGS), model_name="openai/test-model", base_url=BASE_URL, extra_env={"OPENAI_API_KEY": "k"}, max_minutes="5")
    context = AgentContext()
    await agent.run("Look at it", Environment(), context)
    agent.populate_context_post_run(context)
    trajectory = Trajectory.model_validate_json((Path(LOGS) / "trajectory.json").read_text())
    print(json.dumps({"steps": len(trajectory.steps), "input": context.n_input_tokens, "metadata": context.metadata}))


asyncio.run(main())
