// A new administrator looks for the call that failed yesterday, from the admin's index on.
// Prints what the page of that call says.
import { main, signIn } from "./browser.mjs";

await main(async (browser) => {
  const page = await signIn(browser, { viewport: { width: 1280, height: 800 } });
  page.errors.length = 0; // the example has no favicon
  await page.click("text=MCP server");
  await page.click("#content-main >> text=Calls");
  await page.click("text=Yesterday");
  await page.selectOption("label:has-text('Result') + select", { label: "Went wrong" });
  await page.press("#changelist-filter [type=submit]", "Enter");
  await page.waitForURL(/result=failed/);
  const found = await page.locator("#result_list tbody tr").count();
  await page.click("#result_list tbody tr:has-text('export_') th a");
  const story = await page.textContent("article.mcp-story");
  return { found, story, errors: page.errors };
});
