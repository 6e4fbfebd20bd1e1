// The life of a token by the keyboard alone: issue, copy, rotate with a grace, end a secret, revoke.
// The page that shows a secret is looked at in light and dark, wide and narrow.
// Given: tokens (the list's address), shots. Prints what was seen at each step.
import { given, main, overflow, reach, signIn, unfit } from "./browser.mjs";

const VIEWS = [1280, 400].flatMap((width) => ["light", "dark"].map((scheme) => ({ width, scheme })));
const NAME = "<script>alert(1)</script> by keyboard";
const SECRET = "#mcp-secret-1";

/** What is wrong with the page as it stands, in each view: a reload would lose it. */
async function look(page, name) {
  const wrong = [];
  for (const { width, scheme } of VIEWS) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: scheme });
    // Links fade from one colour to the other.
    await page.evaluate(() => Promise.all(document.getAnimations().map((fade) => fade.finished)));
    const found = await unfit(page);
    const wide = await overflow(page);
    if (wide > 0) found.push(`${wide} pixels too wide`);
    await page.screenshot({ path: `${given.shots}/${name}-${width}-${scheme}.png`, fullPage: true });
    wrong.push(...found.map((what) => `${name} ${width} ${scheme}: ${what}`));
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  return wrong;
}

/** Fill in the form with keys, and send it; what is wrong with it as it stands. */
async function issue(page) {
  await page.goto(`${given.tokens}add/`);
  await reach(page, ".field-user [role=combobox]");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".select2-search__field:focus");
  await page.keyboard.type("sam");
  await page.waitForSelector(".select2-results__option--highlighted:text-is('sam')");
  await page.keyboard.press("Enter");
  await reach(page, "#id_name");
  await page.keyboard.type(NAME);
  await reach(page, "[name=tools_limit]");
  await folded(page);
  await page.keyboard.press("ArrowDown");
  await page.waitForSelector("[name=tools_names]:enabled", { state: "visible" });
  await page.keyboard.press("ArrowUp");
  await folded(page);
  await page.keyboard.press("ArrowDown");
  await reach(page, "[name=tools_names][value=list_rooms]");
  await page.waitForSelector("#mcp-reach:has-text('It is limited to no tool at all.')");
  await page.keyboard.press("Space");
  await page.waitForSelector("#mcp-reach:has-text('It can call 1 of') code:text-is('list_rooms')");
  const wrong = await look(page, "token-issue-tools");
  await page.focus("[name=tools_names][value=list_rooms]");
  await reach(page, "#id_expiry");
  await page.keyboard.type("In 7");
  await press(page, "[name=_save]");
  return wrong;
}

/** Wait until no tool is shown, nor would be sent. */
async function folded(page) {
  await page.waitForSelector("[name=tools_names]:disabled", { state: "attached" });
  await page.waitForSelector("[name=tools_names]", { state: "hidden" });
}

/** Go to what is named, and press it; the page after it is there. */
async function press(page, selector) {
  await reach(page, selector);
  await Promise.all([page.waitForEvent("load"), page.keyboard.press("Enter")]);
}

async function clipboard(page) {
  return page.evaluate(() => navigator.clipboard.readText());
}

/** Copy the secret, and what one client needs, from the page that shows them. */
async function copy(page) {
  const secret = await page.textContent(SECRET);
  await reach(page, `[data-copy=${SECRET.slice(1)}]`);
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-copy-status]:text-is('Copied')", { state: "attached" });
  const copied = await clipboard(page);
  await reach(page, "summary:has-text('Codex')");
  await page.keyboard.press("Enter");
  const codex = page.locator("details", { hasText: "Codex" });
  await reach(page, "details:has(summary:has-text('Codex')) [data-copy]");
  await page.keyboard.press("Enter");
  await codex.locator("[data-copied]:text-is('Copied')").waitFor();
  return { secret, copied, pasted: await clipboard(page), open: await page.locator("details[open]").count() };
}

async function life(page) {
  const wrong = await issue(page);
  const seen = { issued: await copy(page), named: await page.textContent("section h2") };
  seen.wrong = [...wrong, ...(await look(page, "token-shown"))];
  await press(page, "text=I have it: go to the token");
  await press(page, ".object-tools a[href$='rotate/']");
  await reach(page, "[name=grace]:checked");
  await page.keyboard.press("ArrowUp");
  seen.asked = await page.textContent("#content-main");
  await press(page, "[value=Rotate]");
  seen.rotated = await page.textContent("#content-main");
  seen.second = await page.textContent(SECRET);
  await press(page, "text=I have it: go to the token");
  await press(page, "tr:nth-of-type(2) >> text=End now");
  await press(page, "[value='End the secret']");
  seen.ended = await page.textContent("section:has(#mcp-secrets) table");
  seen.history = await page.textContent("[aria-labelledby=mcp-history] table");
  await press(page, ".object-tools a[href$='revoke/']");
  await press(page, "[value=Revoke]");
  seen.revoked = await page.textContent("#content");
  return seen;
}

await main(async (browser) => {
  const page = await signIn(browser, {
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  page.errors.length = 0; // the example has no favicon
  const seen = await life(page);
  return { ...seen, errors: page.errors };
});
