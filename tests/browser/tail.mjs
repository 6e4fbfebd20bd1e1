// Watches calls as they happen, and stops one. Given: token, tail (the page's path), shots.
// Prints what was seen of each step, and what the console complained of.
import { given, main, signIn, unfit } from "./browser.mjs";

let number = 0;

/** Call a tool as a client would, and wait for its answer. */
async function call(name, args = {}) {
  number += 1;
  const version = "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: "<script>alert(1)</script>", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const answer = await fetch(`${given.origin}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${given.token}`,
      "mcp-protocol-version": version,
      "mcp-method": "tools/call",
      "mcp-name": name,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: number,
      method: "tools/call",
      params: { name, arguments: args, _meta: meta },
    }),
  });
  return answer.text();
}

const rows = (page) => page.locator("#mcp-tail-rows tr");
const settled = (page, text) => page.waitForFunction(
  (wanted) => document.getElementById("mcp-tail-status").textContent.startsWith(wanted), text);

async function until(page, count) {
  await page.waitForFunction((n) => document.querySelectorAll("#mcp-tail-rows tr").length >= n, count);
  return rows(page).count();
}

await main(async (browser) => {
  const seen = {};
  const page = await signIn(browser, { viewport: { width: 1280, height: 800 } });
  page.errors.length = 0;
  const lines = [];
  let cut = false;
  await page.routeWebSocket(/\/tail\/$/, (line) => {
    if (cut) {
      line.close();
      return;
    }
    line.connectToServer();
    lines.push(line);
  });
  await page.goto(given.tail);
  await settled(page, "Live.");
  const before = await rows(page).count();

  await call("list_rooms");
  seen.arrived = (await until(page, before + 1)) - before;
  seen.first = await rows(page).first().textContent();

  cut = true;
  lines.at(-1).close();
  await settled(page, "The connection is lost");
  for (const name of ["list_rooms", "no_such_tool", "list_rooms"]) await call(name);
  cut = false;
  await settled(page, "Live.");
  await until(page, before + 4);
  await call("list_rooms");
  seen.afterCut = (await until(page, before + 5)) - before;

  await page.focus("#mcp-tail-pause");
  await page.keyboard.press("Enter");
  await settled(page, "Paused.");
  await call("list_rooms");
  const other = await page.context().newPage();
  await other.goto(given.tail);
  seen.elsewhere = (await until(other, before + 6)) - before;
  await other.close();
  seen.whilePaused = (await rows(page).count()) - before;
  await page.keyboard.press("Enter");
  seen.goneOn = (await until(page, before + 6)) - before;
  const keys = await rows(page).evaluateAll((all) => all.map((row) => Number(row.dataset.key)));
  seen.doubles = keys.length - new Set(keys).size;
  seen.newestFirst = keys.every((key, index) => !index || keys[index - 1] > key);

  await page.selectOption("#mcp-filter-result", "turned_away");
  await page.click(".mcp-tail-filters [type=submit]");
  await settled(page, "Live.");
  await until(page, 1);
  seen.filtered = await rows(page).allTextContents();
  await call("list_rooms");
  await call("no_such_tool");
  seen.filteredLater = await until(page, seen.filtered.length + 1);

  const polling = await page.context().newPage();
  await polling.routeWebSocket(/\/tail\/$/, (line) => line.close());
  await polling.goto(given.tail);
  await settled(polling, "The page's socket cannot be opened");
  const known = await rows(polling).count();
  await call("list_rooms");
  seen.polled = (await until(polling, known + 1)) - known;
  await polling.close();

  await page.goto(given.tail);
  const answer = call("wait_forever");
  await page.locator(".mcp-stop").first().focus();
  seen.unfit = await unfit(page);
  await page.keyboard.press("Enter");
  await page.waitForURL(/stop/);
  seen.asked = await page.textContent("article");
  seen.unfit.push(...(await unfit(page)));
  await page.screenshot({ path: `${given.shots}/stop.png` });
  await page.focus("#content-main form [type=submit]");
  await page.keyboard.press("Enter");
  await page.waitForURL(/change/);
  seen.stopped = await page.textContent(".messagelist");
  seen.story = await page.textContent("article");
  seen.answer = await answer;

  seen.errors = page.errors;
  return seen;
});
