"""claude-agent-sdk drives mycode: python claude.py FOLDER MYCODE URL PROJECT"""

import asyncio
import json
import sys

folder, mycode, url, project = sys.argv[1:5]
sys.path.insert(0, f"{folder}/python")

import claude_agent_sdk as sdk  # noqa: E402

found = {"asked": [], "hooks": [], "results": []}


def options(**more):
    return sdk.ClaudeAgentOptions(cli_path=mycode, cwd=project, model="m", extra_args={"base-url": url}, **more)


@sdk.tool("add", "Add two numbers", {"a": float, "b": float})
async def add(args):
    return {"content": [{"type": "text", "text": f"sum {args['a'] + args['b']}"}]}


async def may_use(name, given, context):
    found["asked"].append([name, given])
    return sdk.PermissionResultDeny(message="never") if name == "Bash" else sdk.PermissionResultAllow()


async def hook(given, call, context):
    found["hooks"].append([given["hook_event_name"], given["tool_name"]])
    return {}


def keep(message):
    if isinstance(message, sdk.ResultMessage):
        found["results"].append([message.subtype, message.result, message.num_turns])


async def main():
    async for message in sdk.query(prompt="hi", options=options()):
        keep(message)
    calc = sdk.create_sdk_mcp_server("calc", tools=[add])
    hooks = {"PreToolUse": [sdk.HookMatcher(matcher="mcp__.*", hooks=[hook])]}
    settings = options(can_use_tool=may_use, hooks=hooks, mcp_servers={"calc": calc}, system_prompt="Be brief.")
    async with sdk.ClaudeSDKClient(settings) as client:
        for text in ["one", "two"]:
            await client.query(text)
            async for message in client.receive_response():
                keep(message)
    print(json.dumps(found))


asyncio.run(main())
