// A person's browser for the scripts beside this one: signed in, and watched for errors.
// Environment: PEERS (the folder of node_modules), CHROMIUM, GIVEN (JSON: origin, username, password…).
import { createRequire } from "node:module";

const { PEERS, CHROMIUM, GIVEN } = process.env;
const require = createRequire(`${PEERS}/package.json`);
const { chromium } = require("playwright-core");
const axe = require("axe-core");

export const given = JSON.parse(GIVEN);

/** Run `work(browser)`, print what it returns as JSON, and end the browser. */
export async function main(work) {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  try {
    console.log(JSON.stringify(await work(browser)));
  } finally {
    await browser.close();
  }
}

/** A page of a signed-in person; `page.errors` gathers what the console and scripts complain of. */
export async function signIn(browser, options = {}) {
  const context = await browser.newContext({ baseURL: given.origin, ...options });
  const page = await context.newPage();
  page.errors = [];
  page.on("console", (said) => said.type() === "error" && page.errors.push(said.text()));
  page.on("pageerror", (error) => page.errors.push(String(error)));
  page.on("dialog", (dialog) => page.errors.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
  await page.goto("/admin/login/?next=/admin/");
  await page.fill("#id_username", given.username);
  await page.fill("#id_password", given.password);
  await page.click("[type=submit]");
  await page.waitForSelector("#logout-form");
  return page;
}

/** What axe-core finds serious or critical on the page as it stands; it adds no style of its own. */
export async function unfit(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run(document, { preload: false }));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
}

/** How many pixels the page is wider than its window. */
export async function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}

/** The cells of rows shown as cards whose words stick out of them, over those of the next. */
export async function sticking(page) {
  return page.evaluate(() => [...document.querySelectorAll(".mcp-cards tbody :is(th, td)")]
    .filter((cell) => ["block", "flow-root"].includes(getComputedStyle(cell).display))
    .filter((cell) => cell.scrollWidth > cell.clientWidth + 1)
    .slice(0, 3).map((cell) => `words stick out: ${cell.textContent.trim()}`));
}

/** Tables that become cards where it is narrow, and do not: cells that say nothing of what they hold, or a frame that scrolls. */
export async function uncarded(page) {
  return page.evaluate(() => [...document.querySelectorAll(".mcp-scroll.mcp-cards")].flatMap((frame) => {
    const nameless = [...frame.querySelectorAll("tbody :is(th, td):not([data-label], [colspan])")];
    const narrow = getComputedStyle(frame.querySelector("tbody tr")).display === "block";
    return [
      ...nameless.slice(0, 3).map((cell) => `a cell without a label: ${cell.textContent.trim()}`),
      ...(narrow && frame.scrollWidth > frame.clientWidth ? [`cards scroll sideways: ${frame.ariaLabel}`] : []),
    ];
  }));
}

/** Press Tab until what is named has the focus: what the keyboard cannot reach is a fault. */
export async function reach(page, selector) {
  const wanted = await page.locator(selector).first().elementHandle();
  for (let pressed = 0; pressed < 120; pressed += 1) {
    await page.keyboard.press("Tab");
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
  }
  throw new Error(`the keyboard does not reach ${selector}`);
}
