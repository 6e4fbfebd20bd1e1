// Tries two tools by the keyboard alone: one that reads, and one that asks twice and is declined.
// Given: shots (a folder for pictures). Prints what is wrong, and what was read.
import { given, main, overflow, signIn, unfit } from "./browser.mjs";

const OF = "/admin/mcp_app/catalogue/try/?of=default:tool:";

async function check(page, name, view, wrong) {
  const found = [...(await unfit(page)), ...page.errors];
  const wide = await overflow(page);
  if (wide > 0) found.push(`${wide} pixels too wide`);
  wrong.push(...found.map((what) => `${name} ${view}: ${what}`));
  await page.screenshot({ path: `${given.shots}/${name}-${view}.png`, fullPage: true });
}

async function tabTo(page, text) {
  for (let n = 0; n < 200; n++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => (({ textContent, value }) => textContent || value || "")(document.activeElement));
    if (at.trim() === text) return;
  }
  throw new Error(`the keyboard does not reach ${text}`);
}

async function press(page, text) {
  await tabTo(page, text);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
}

async function tried(page, view, wrong) {
  page.errors.length = 0;
  await page.goto(`${OF}list_rooms`);
  await check(page, "try", view, wrong);
  await page.focus("[name=p1]");
  await page.keyboard.type("2");
  await press(page, "Run");
  await check(page, "try-result", view, wrong);
  return page.textContent("#content-main");
}

async function declined(page, view, wrong) {
  await page.goto(`${OF}close_room`);
  await page.focus("[name=p0]");
  await page.keyboard.type("ABCDEF");
  await page.keyboard.press("Tab");
  await page.keyboard.type("A trial.");
  await press(page, "Run");
  await check(page, "try-sure", view, wrong);
  await press(page, "Yes, run it");
  await check(page, "try-asked", view, wrong);
  await press(page, "Decline");
  await check(page, "try-declined", view, wrong);
  return page.textContent("#content-main");
}

await main(async (browser) => {
  const wrong = [];
  const read = [];
  for (const [width, colorScheme] of [[1280, "light"], [400, "dark"]]) {
    const page = await signIn(browser, { colorScheme, viewport: { width, height: 800 }, reducedMotion: "reduce" });
    const view = `${width}-${colorScheme}`;
    read.push(await tried(page, view, wrong), await declined(page, view, wrong));
    await page.context().close();
  }
  return { wrong, read };
});
