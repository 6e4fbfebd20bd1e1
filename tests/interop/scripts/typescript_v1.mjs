// The TypeScript SDK 1.x, of the handshake era, walks through everything; prints JSON.
// Environment: PEERS (the folder of node_modules), URL, TOKEN, NAME.
import { createRequire } from "node:module";

const { PEERS, URL: endpoint, TOKEN, NAME } = process.env;
const require = createRequire(`${PEERS}/package.json`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const types = require("@modelcontextprotocol/sdk/types.js");

const NOTE = "notes://a";
const client = new Client(
  { name: NAME, version: "1" },
  { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
);
const answers = [{ action: "accept", content: { name: "Ada" } }, { action: "decline" }];
client.setRequestHandler(types.ElicitRequestSchema, async () => answers.shift());
client.setRequestHandler(types.CreateMessageRequestSchema, async () => ({
  role: "assistant",
  model: "m",
  content: { type: "text", text: "fine" },
}));
client.setRequestHandler(types.ListRootsRequestSchema, async () => ({
  roots: [{ uri: "file:///work" }],
}));
const seen = { logs: [], progress: [] };
client.setNotificationHandler(types.LoggingMessageNotificationSchema, (message) => {
  seen.logs.push(message.params.data);
});
const heard = new Set();
let heardBoth;
const both = new Promise((resolve) => (heardBoth = resolve));
const hear = (what) => heard.add(what).size === 2 && heardBoth();
client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => hear("tools"));
client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, (m) => hear(m.params.uri));

const transport = new StreamableHTTPClientTransport(new URL(endpoint), {
  requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
});
await client.connect(transport);
seen.version = transport.protocolVersion;
await client.setLoggingLevel("info");
const call = (name, args = {}, options) =>
  client.callTool({ name, arguments: args }, undefined, options);
const textOf = (result) => result.content[0].text;

seen.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
seen.structured = (await call("total", { a: 2, b: 3 })).structuredContent;
const failed = await call("fail");
seen.failed = [failed.isError, textOf(failed)];
const onprogress = (p) => seen.progress.push([p.progress, p.total, p.message]);
seen.text = textOf(await call("steps", {}, { onprogress }));
seen.accepted = textOf(await call("greet"));
seen.declined = textOf(await call("greet"));
seen.sampled = textOf(await call("think"));
seen.roots = textOf(await call("look"));
seen.read = (await client.readResource({ uri: NOTE })).contents[0].text;
const { resourceTemplates } = await client.listResourceTemplates();
seen.templates = resourceTemplates.map((template) => template.uriTemplate);
seen.prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
const got = await client.getPrompt({ name: "cheer", arguments: { mood: "glad" } });
seen.prompt = got.messages[0].content.text;
const completed = await client.complete({
  ref: { type: "ref/prompt", name: "cheer" },
  argument: { name: "mood", value: "g" },
});
seen.completed = completed.completion.values;

await client.subscribeResource({ uri: NOTE });
await call("touch", { name: "a" });
await call("promote", { staff: false });
await both;
await call("promote", { staff: true });
seen.heard = [...heard].sort();

const controller = new AbortController();
const options = { signal: controller.signal, onprogress: () => controller.abort() };
seen.cancelled = await call("wait", {}, options).then(
  () => false,
  () => true,
);
await call("read"); // closing at once would drop what is on its way
await transport.terminateSession();
await client.close();
console.log(JSON.stringify(seen));
