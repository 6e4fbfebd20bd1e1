// Opens each of the given pages, light and dark, wide and narrow; prints what is wrong with it.
// Given: pages (name: path), shots (a folder for pictures).
import { given, main, overflow, signIn, unfit } from "./browser.mjs";

const VIEWS = [1280, 400].flatMap((width) => ["light", "dark"].map((scheme) => ({ width, scheme })));

async function look(page, name, path, view) {
  page.errors.length = 0;
  const response = await page.goto(path);
  // What is folded away is looked at, too.
  await page.evaluate(() => document.querySelectorAll("main details").forEach((each) => (each.open = true)));
  const wrong = await unfit(page);
  if (response.status() !== 200) wrong.push(`status ${response.status()}`);
  const wide = await overflow(page);
  if (wide > 0) wrong.push(`${wide} pixels too wide`);
  await page.screenshot({ path: `${given.shots}/${name}-${view}.png`, fullPage: true });
  return [...wrong, ...page.errors].map((what) => `${name} ${view}: ${what}`);
}

await main(async (browser) => {
  const wrong = [];
  for (const { width, scheme } of VIEWS) {
    const page = await signIn(browser, {
      colorScheme: scheme,
      viewport: { width, height: 800 },
      reducedMotion: "reduce",
    });
    for (const [name, path] of Object.entries(given.pages)) {
      wrong.push(...(await look(page, name, path, `${width}-${scheme}`)));
    }
    await page.context().close();
  }
  return { wrong };
});
