// @openai/codex-sdk drives mycode: node codex.mjs FOLDER MYCODE URL PROJECT
const [folder, mycode, url, project] = process.argv.slice(2);
const { Codex } = await import(`${folder}/codex/dist/index.js`);
const codex = new Codex({ codexPathOverride: mycode, baseUrl: url, apiKey: "sk-codex", config: { features: { x: true } } });
const options = { model: "m", sandboxMode: "workspace-write", workingDirectory: project, skipGitRepoCheck: true,
  modelReasoningEffort: "low", networkAccessEnabled: false, webSearchEnabled: false, approvalPolicy: "never" };
const thread = codex.startThread(options);
const kinds = [];
for await (const event of (await thread.runStreamed("write")).events) kinds.push(event.item?.type ?? event.type);
const outputSchema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"], additionalProperties: false };
const structured = await thread.run("as JSON", { outputSchema });
const resumed = await codex.resumeThread(thread.id, options).run([{ type: "text", text: "on" }]);
const failed = await codex.startThread(options).run("fail").catch((error) => error.message);
console.log(JSON.stringify({ kinds, json: JSON.parse(structured.finalResponse), usage: structured.usage,
  resumed: resumed.finalResponse, failed }));
