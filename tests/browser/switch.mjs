// Sets a switch with the keyboard, past the page that says who is affected.
// Given: add (the path of the form), shots. Prints what was seen.
import { given, main, overflow, signIn, unfit } from "./browser.mjs";

await main(async (browser) => {
  const page = await signIn(browser, { viewport: { width: 400, height: 800 }, colorScheme: "dark" });
  page.errors.length = 0;
  await page.goto(given.add);
  await page.selectOption("#id_kind", "off");
  await page.selectOption("#id_target", { label: "default: tool announce" });
  await page.fill("#id_reason", "<script>alert(1)</script>");
  await page.waitForSelector("#id_until", { state: "hidden" });
  await page.selectOption("#id_ending", "custom");
  await page.waitForSelector("#id_until", { state: "visible" });
  await page.selectOption("#id_ending", "1h");
  await page.press("#id_reason", "Enter");
  await page.waitForSelector("article.mcp-story");
  const seen = { unfit: await unfit(page), wide: Math.max(0, await overflow(page)) };
  seen.asked = await page.textContent("article.mcp-story");
  await page.screenshot({ path: `${given.shots}/switch-confirm-400-dark.png` });
  await page.focus("article form [type=submit]");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".messagelist");
  seen.told = await page.textContent(".messagelist");
  seen.errors = page.errors;
  return seen;
});
