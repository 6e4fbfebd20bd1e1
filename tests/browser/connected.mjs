// Finds an open stream among those who are connected, and closes it with the keyboard.
// Given: connected (the page's path), shots. Prints what was seen.
import { given, main, overflow, signIn, unfit } from "./browser.mjs";

await main(async (browser) => {
  const seen = { unfit: [], wide: 0 };
  for (const width of [400, 1280]) {
    const page = await signIn(browser, { viewport: { width, height: 800 }, colorScheme: "dark" });
    page.errors.length = 0;
    await page.goto(given.connected);
    seen.page = await page.textContent(".mcp-connected");
    await page.focus(".mcp-act a[href*=stream]");
    await page.keyboard.press("Enter");
    await page.waitForURL(/connected\/end/);
    seen.unfit.push(...(await unfit(page)));
    seen.wide += Math.max(0, await overflow(page));
    seen.asked = await page.textContent("article");
    await page.screenshot({ path: `${given.shots}/end-stream-${width}-dark.png` });
    if (width === 1280) {
      await page.focus("#content-main form [type=submit]");
      await page.keyboard.press("Enter");
      await page.waitForSelector(".messagelist");
      seen.told = await page.textContent(".messagelist");
    }
    seen.errors = [...(seen.errors ?? []), ...page.errors];
    await page.context().close();
  }
  return seen;
});
