// The TypeScript SDK 1.x, which speaks the handshake era. Lists the tools and calls one; prints JSON.
// Environment: PEERS (the folder of node_modules), URL, TOKEN, MODE ("legacy"), TOOL, ARGUMENTS.
import { createRequire } from "node:module";

const { PEERS, URL: endpoint, TOKEN, TOOL, ARGUMENTS } = process.env;
const require = createRequire(`${PEERS}/package.json`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");

const client = new Client({ name: "interop-typescript-1", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(endpoint), {
  requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
});
await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: TOOL, arguments: JSON.parse(ARGUMENTS) });
const version = transport.protocolVersion;
await transport.terminateSession();
await client.close();
console.log(JSON.stringify({ version, tools: tools.map((tool) => tool.name), result }));
