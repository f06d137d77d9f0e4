// @anthropic-ai/claude-agent-sdk drives mycode: node claude.mjs FOLDER MYCODE URL PROJECT
const [folder, mycode, url, project] = process.argv.slice(2);
const { createSdkMcpServer, query, tool } = await import(`${folder}/claude/sdk.mjs`);
const options = { pathToClaudeCodeExecutable: mycode, cwd: project, model: "m", extraArgs: { "base-url": url } };
const found = { asked: [], hooks: [], results: [] };
const all = async (run) => {
  for await (const message of run) if (message.type === "result") found.results.push(message);
  return found.results.at(-1);
};
const canUseTool = async (name, input) => {
  found.asked.push([name, input]);
  if (name === "Bash") return { behavior: "deny", message: "never" };
  return { behavior: "allow", updatedInput: { ...input, content: "changed\n" } };
};
const hook = async (input) => {
  found.hooks.push([input.hook_event_name, input.tool_name]);
  return {};
};
const hooks = { PostToolUse: [{ matcher: "Write", hooks: [hook] }], Stop: [{ hooks: [hook] }] };
await all(query({ prompt: "write", options: { ...options, canUseTool, hooks } }));
async function* two() {
  for (const content of ["one", "two"]) yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null };
}
const { session_id: resume } = await all(query({ prompt: two(), options }));
await all(query({ prompt: "three", options: { ...options, resume } }));
const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
await all(query({ prompt: "as JSON", options: { ...options, outputFormat: { type: "json_schema", schema } } }));
const free = { ...options, permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
let more;
const gate = new Promise((resolve) => { more = resolve; });
async function* interrupted() {
  yield { type: "user", message: { role: "user", content: "wait" }, parent_tool_use_id: null };
  await gate;
}
const run = query({ prompt: interrupted(), options: free });
for await (const message of run) {
  if (message.type === "assistant" && message.message.content[0].type === "tool_use") await run.interrupt();
  if (message.type === "result") {
    found.results.push(message);
    more();
  }
}
let told;
const ready = new Promise((resolve) => { told = resolve; });
async function* afterwards() {
  await ready;
  yield { type: "user", message: { role: "user", content: "add" }, parent_tool_use_id: null };
}
const changing = query({ prompt: afterwards(), options: free });
const add = tool("add", "Adds two numbers", {}, async () => ({ content: [{ type: "text", text: "sum 5" }] }));
found.set = await changing.setMcpServers({ calc: createSdkMcpServer({ name: "calc", tools: [add] }), lost: { command: "/none" } });
found.servers = (await changing.mcpServerStatus()).map(({ name, status }) => [name, status]);
told();
await all(changing);
await all(query({ prompt: "x", options: { ...options, resume: "no-such-session" } })).catch((error) => { found.refused = error.message; });
console.log(JSON.stringify(found));
