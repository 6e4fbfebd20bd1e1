// An administrator's day, with somebody's agent at the other end: issue a token, connect with it, see
// its call arrive, explain a denial, switch a tool off, rotate with grace, refuse, export.
// Given: grace (seconds). Prints what was seen of each step, and what the console complained of.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { given, main, signIn } from "./browser.mjs";

const require = createRequire(`${process.env.PEERS}/package.json`);
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ToolListChangedNotificationSchema } = require("@modelcontextprotocol/sdk/types.js");

const APP = "/admin/mcp_app";

/** The official client with a secret; `changed` is kept when the server says that its list did. */
async function connect(secret, name) {
  const client = new Client({ name, version: "1" }, {});
  client.changed = new Promise((resolve) =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
  const transport = new StreamableHTTPClientTransport(new URL(`${given.origin}/mcp`), {
    requestInit: { headers: { Authorization: `Bearer ${secret}` } },
  });
  await client.connect(transport);
  return client;
}

const tools = async (client) => (await client.listTools()).tools.map(({ name }) => name);
const outcome = (promise) => promise.then(() => "answered", (error) => String(error.message));

async function issue(page) {
  await page.goto(`${APP}/token/add/`);
  await page.click(".select2-selection");
  await page.fill(".select2-search__field", "admin");
  await page.click(".select2-results__option:has-text('admin')");
  await page.fill("#id_name", "flow <b>agent</b>");
  await page.click("text=Issue the token");
  await page.click("button[data-copy=mcp-secret-1]");
  await page.waitForSelector("text=Copied");
  return page.evaluate(() => navigator.clipboard.readText());
}

async function explain(page, tool) {
  await page.goto(`${APP}/callevent/?tool=${tool}`);
  await page.click("#result_list tbody tr th a");
  const story = await page.textContent("article.mcp-story");
  await page.click("text=Explain: what the gates say now");
  return { story, gates: await page.textContent("#content-main") };
}

async function switchOff(page, tool, reason) {
  await page.goto(`${APP}/switch/add/`);
  await page.selectOption("#id_kind", "off");
  await page.selectOption("#id_target", { label: `default: tool ${tool}` });
  await page.fill("#id_reason", reason);
  await page.click("#switch_form [name=_save]");
  await page.click("article form [type=submit]");
}

async function rotate(page, seconds) {
  await page.goto(`${APP}/token/?q=flow`);
  await page.click("#result_list tbody tr th a");
  const token = page.url();
  await page.click(".object-tools >> text=Rotate");
  const affected = await page.textContent("#content-main");
  await page.check("label:has-text('After so many seconds') input");
  await page.fill("[name=seconds]", String(seconds));
  await page.click("[type=submit][value=Rotate]");
  await page.click("button[data-copy=mcp-secret-1]");
  await page.waitForSelector("text=Copied");
  return { token, affected, secret: await page.evaluate(() => navigator.clipboard.readText()) };
}

/** Call until it is refused; what was said then. */
async function untilRefused(client) {
  for (;;) {
    const said = await outcome(client.callTool({ name: "server_health", arguments: {} }));
    if (said !== "answered") return said;
  }
}

async function exported(page) {
  await page.goto(`${APP}/callevent/?client=flow-agent`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click("a:has-text('Export CSV'), button:has-text('Export CSV')"),
  ]);
  return readFile(await download.path(), "utf8");
}

await main(async (browser) => {
  const seen = {};
  const page = await signIn(browser, {
    viewport: { width: 1280, height: 800 },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  page.errors.length = 0;
  const first = await issue(page);
  seen.issued = /^mcp_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}$/.test(first);

  const tail = await page.context().newPage();
  await tail.goto(`${APP}/callevent/tail/`);
  await tail.waitForFunction(() => document.getElementById("mcp-tail-status").textContent.startsWith("Live."));
  const agent = await connect(first, "flow-agent");
  seen.before = await tools(agent);
  await agent.callTool({ name: "list_rooms", arguments: {} });
  const row = tail.locator("#mcp-tail-rows tr:has-text('flow-agent'):has-text('list_rooms')").first();
  await row.waitFor();
  seen.arrived = await row.textContent();
  await tail.close();

  seen.denied = await outcome(agent.callTool({ name: "close_room", arguments: { invite_code: "ABCDEF", reason: "x" } }));
  Object.assign(seen, await explain(page, "close_room"));

  await switchOff(page, "list_rooms", "Moving house.");
  await agent.changed;
  seen.after = await tools(agent);

  const rotated = await rotate(page, given.grace);
  seen.affected = rotated.affected;
  seen.inGrace = await outcome(agent.callTool({ name: "server_health", arguments: {} }));
  const renewed = await connect(rotated.secret, "flow-agent-renewed");
  seen.renewed = (await tools(renewed)).length;
  await page.goto(rotated.token);
  seen.uses = await page.textContent("section:has(#mcp-secrets)");
  seen.refused = await untilRefused(agent);
  await page.reload();
  seen.stillTried = await page.textContent("section:has(#mcp-secrets)");
  seen.stillWorks = await outcome(renewed.callTool({ name: "server_health", arguments: {} }));
  await renewed.close();

  seen.csv = await exported(page);
  seen.leaked = [first, rotated.secret].filter((secret) => seen.csv.includes(secret)).length;
  seen.errors = page.errors;
  return seen;
});
