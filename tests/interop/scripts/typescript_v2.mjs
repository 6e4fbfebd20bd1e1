// The TypeScript SDK 2.x walks through everything; prints JSON.
// Environment: PEERS (the folder of node_modules), URL, TOKEN, NAME, MODE ("legacy", "auto" or a revision).
import { createRequire } from "node:module";

const { PEERS, URL: endpoint, TOKEN, NAME, MODE } = process.env;
const require = createRequire(`${PEERS}/package.json`);
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");

const NOTE = "notes://a";
const isLegacy = MODE === "legacy";
const client = new Client(
  { name: NAME, version: "1" },
  {
    versionNegotiation: { mode: isLegacy || MODE === "auto" ? MODE : { pin: MODE } },
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
  },
);
const answers = [{ action: "accept", content: { name: "Ada" } }, { action: "decline" }];
client.setRequestHandler("elicitation/create", async () => answers.shift());
client.setRequestHandler("sampling/createMessage", async () => ({
  role: "assistant",
  model: "m",
  content: { type: "text", text: "fine" },
}));
client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///work" }] }));
const seen = { logs: [], progress: [] };
client.setNotificationHandler("notifications/message", (message) => {
  seen.logs.push(message.params.data);
});
const heard = new Set();
let heardBoth;
const both = new Promise((resolve) => (heardBoth = resolve));
const hear = (what) => heard.add(what).size === 2 && heardBoth();
client.setNotificationHandler("notifications/tools/list_changed", () => hear("tools"));
client.setNotificationHandler("notifications/resources/updated", (m) => hear(m.params.uri));

await client.connect(
  new StreamableHTTPClientTransport(new URL(endpoint), {
    requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
  }),
);
seen.version = client.getNegotiatedProtocolVersion();
if (isLegacy) await client.setLoggingLevel("info");
const call = (name, args = {}, options, meta) =>
  client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) }, options);
const textOf = (result) => result.content[0].text;

seen.tools = (await client.listTools()).tools.map((tool) => tool.name).sort();
seen.structured = (await call("total", { a: 2, b: 3 })).structuredContent;
const failed = await call("fail");
seen.failed = [failed.isError, textOf(failed)];
const onprogress = (p) => seen.progress.push([p.progress, p.total, p.message]);
const meta = isLegacy ? undefined : { "io.modelcontextprotocol/logLevel": "info" };
seen.text = textOf(await call("steps", {}, { onprogress }, meta));
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

const listening = isLegacy
  ? await client.subscribeResource({ uri: NOTE })
  : await client.listen({ toolsListChanged: true, resourceSubscriptions: [NOTE] });
await call("touch", { name: "a" });
await call("promote", { staff: false });
await both;
await call("promote", { staff: true });
seen.heard = [...heard].sort();
await listening.close?.();

const controller = new AbortController();
const options = { signal: controller.signal, onprogress: () => controller.abort() };
seen.cancelled = await call("wait", {}, options).then(
  () => false,
  () => true,
);
await call("read"); // closing at once would drop what is on its way
await client.close();
console.log(JSON.stringify(seen));
