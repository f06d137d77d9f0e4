"""Harbor adapter: `harbor run -a tests.eval.mycode_agent:MyCode` (written for Harbor 0.26.0, read 2026-11-25)."""

import json
import shlex
from pathlib import Path
from typing import Annotated, override

from harbor.agents.agent_auth_resolution import ModelConnectionSpec, ProviderAccess
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import (
    AgentAuthenticationError,
    ApiRateLimitError,
    BaseInstalledAgent,
    ContextWindowExceededError,
    ErrorPattern,
    ModelNotFoundError,
    NetworkConnectionError,
    with_prompt_template,
)
from harbor.agents.options import Cli, InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.model_api_format import ModelApiFormat

LOGS = "/logs/agent"
# 0 is done; 5 to 13 say how a run that worked came to its end (see the project's README).
RUN = """mycode exec {options} --keep --permission full --trajectory {logs}/trajectory.json -- {task} \
2>&1 </dev/null | tee {logs}/mycode.txt
code=$?; echo $code > {logs}/exit-code; case $code in [5-9]|1[0-3]) exit 0;; esac; exit $code"""


class MyCodeOptions(InstalledAgentOptions):
    reasoning_effort: Annotated[str | None, Cli("--effort")] = None
    max_minutes: Annotated[str | None, Cli("--max-minutes")] = None
    max_steps: Annotated[str | None, Cli("--max-steps")] = None
    max_cost: Annotated[str | None, Cli("--max-cost")] = None
    # A binary or the archive of `.ci/package`; else `mycode` must be in the image.
    archive: str | None = None


class MyCode(BaseInstalledAgent):
    options_model = MyCodeOptions
    capabilities = AgentCapabilities(atif=True, base_url=True, reasoning_effort=True)
    MODEL_CONNECTION = ModelConnectionSpec(
        agent_provider_access=ProviderAccess(
            api_key_candidate_names=["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
            base_url_candidate_names=["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"],
        ),
        supported_api_formats=[
            ModelApiFormat.OPENAI_CHAT_COMPLETIONS,
            ModelApiFormat.OPENAI_RESPONSES,
            ModelApiFormat.ANTHROPIC_MESSAGES,
        ],
        api_key_destination_names={"anthropic": "ANTHROPIC_API_KEY", "default": "OPENAI_API_KEY"},
        base_url_destination_names={"default": None},
    )
    ERROR_PATTERNS = BaseInstalledAgent.ERROR_PATTERNS + [
        ErrorPattern(r"API key rejected", AgentAuthenticationError),
        ErrorPattern(r"no such model|model .* not found", ModelNotFoundError),
        ErrorPattern(r"rate limited|too many requests", ApiRateLimitError),
        ErrorPattern(r"does not fit the model's context window", ContextWindowExceededError),
        ErrorPattern(r"no connection to the server|can't be reached", NetworkConnectionError),
    ]

    @staticmethod
    @override
    def name() -> str:
        return "mycode"

    @override
    def get_version_command(self) -> str | None:
        return "mycode --version"

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        await self.ensure_system_dependencies(environment, ("ca_certificates", "git"))
        archive = self.options.archive
        if archive is None:
            return
        await environment.upload_file(Path(archive), "/tmp/mycode-archive")
        unpack = "case $(head -c 2 /tmp/mycode-archive | od -An -tx1 | tr -d ' ') in 1f8b) "
        unpack += "tar xzf /tmp/mycode-archive -C /tmp && find /tmp -name mycode -type f -exec cp {} /usr/local/bin/mycode ';';; "
        unpack += "*) cp /tmp/mycode-archive /usr/local/bin/mycode;; esac; chmod 755 /usr/local/bin/mycode"
        await self.exec_as_root(environment, command=unpack)

    @override
    @with_prompt_template
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        access = self.model_connection
        options = [self.build_cli_flags()]
        if self.model_name:
            options.append(f"--model {shlex.quote(self._parse_model_name(self.model_name)[1])}")
        if access.candidate_base_url:
            options.append(f"--base-url {shlex.quote(access.candidate_base_url)}")
        if access.model_api_format == ModelApiFormat.ANTHROPIC_MESSAGES:
            options.append("--provider anthropic")
        command = RUN.format(options=" ".join(filter(None, options)), logs=LOGS, task=shlex.quote(instruction))
        await self.exec_as_agent(environment, command=command, env=dict(access.env))

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        code, trajectory = self.logs_dir / "exit-code", self.logs_dir / "trajectory.json"
        if code.exists():
            context.metadata = {"exit_code": code.read_text().strip()}
        if not trajectory.exists():
            return
        total = json.loads(trajectory.read_text()).get("final_metrics", {})
        context.n_input_tokens = total.get("total_prompt_tokens")
        context.n_cache_tokens = total.get("total_cached_tokens")
        context.n_output_tokens = total.get("total_completion_tokens")
        context.cost_usd = total.get("total_cost_usd")
