// The TypeScript SDK 2.x, which speaks both eras. Lists the tools and calls one; prints JSON.
// Environment: PEERS (the folder of node_modules), URL, TOKEN, MODE ("legacy", "auto" or a revision),
// TOOL, ARGUMENTS.
import { createRequire } from "node:module";

const { PEERS, URL: endpoint, TOKEN, MODE, TOOL, ARGUMENTS } = process.env;
const require = createRequire(`${PEERS}/package.json`);
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");

const mode = ["legacy", "auto"].includes(MODE) ? MODE : { pin: MODE };
const client = new Client(
  { name: "interop-typescript-2", version: "1.0.0" },
  { versionNegotiation: { mode } },
);
const transport = new StreamableHTTPClientTransport(new URL(endpoint), {
  requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
});
await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: TOOL, arguments: JSON.parse(ARGUMENTS) });
const version = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ version, tools: tools.map((tool) => tool.name), result }));
