// Pastes a secret into each field of pages that ask in their address, and sends it. Given: pages
// (a path and the selector of a field each), secret, shots. Prints where that led, and what was said.
import { given, main, overflow, signIn, unfit } from "./browser.mjs";

await main(async (browser) => {
  const page = await signIn(browser, { viewport: { width: 400, height: 800 }, colorScheme: "dark" });
  page.errors.length = 0;
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  const seen = { said: [], unfit: [], wide: 0 };
  for (const [number, [path, field]] of given.pages.entries()) {
    await page.goto(path);
    await page.focus(field);
    await page.keyboard.insertText(given.secret);
    await page.waitForSelector(".mcp-cut");
    seen.said.push(await page.textContent(".mcp-cut"));
    seen.unfit.push(...(await unfit(page)));
    seen.wide = Math.max(seen.wide, await overflow(page));
    await page.screenshot({ path: `${given.shots}/pasted-${number}-400-dark.png` });
    await Promise.all([page.waitForEvent("load"), page.press(field, "Enter")]);
  }
  return { ...seen, asked, errors: page.errors };
});
