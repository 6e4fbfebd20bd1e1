// Opens each of the given pages, and looks at it light and dark, wide and narrow; prints what is wrong.
// Given: pages (name: path), shots (a folder for pictures).
import { given, main, overflow, signIn, sticking, uncarded, unfit } from "./browser.mjs";

const VIEWS = [1280, 400].flatMap((width) => ["light", "dark"].map((scheme) => ({ width, scheme })));

async function open(page, path) {
  page.errors.length = 0;
  const response = await page.goto(path);
  // What is folded away is looked at, too.
  await page.evaluate(() => document.querySelectorAll("main details").forEach((each) => (each.open = true)));
  return response.status() === 200 ? [] : [`status ${response.status()}`];
}

async function look(page, name, { width, scheme }) {
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme: scheme });
  // Colours fade from one scheme to the other.
  await page.evaluate(() => document.getAnimations().forEach((each) => each.finish()));
  const wrong = [...(await unfit(page)), ...(await sticking(page)), ...(await uncarded(page))];
  const wide = await overflow(page);
  if (wide > 0) wrong.push(`${wide} pixels too wide`);
  await page.screenshot({ path: `${given.shots}/${name}-${width}-${scheme}.png`, fullPage: true });
  return wrong.map((what) => `${width} ${scheme}: ${what}`);
}

await main(async (browser) => {
  const wrong = [];
  const page = await signIn(browser, { reducedMotion: "reduce" });
  for (const [name, path] of Object.entries(given.pages)) {
    const found = await open(page, path);
    for (const view of VIEWS) found.push(...(await look(page, name, view)));
    wrong.push(...[...found, ...page.errors].map((what) => `${name}: ${what}`));
  }
  return { wrong };
});
