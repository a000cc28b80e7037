import { expect, test } from "vitest";
import { launchBrowser } from "@holdfast/testing/browser/browser";

test("a real browser runs scripts and draws a page", async () => {
  await using browser = await launchBrowser();
  const page = await browser.newPage({ viewport: { width: 360, height: 200 } });
  await page.goto("data:text/html,<h1>moored</h1><script>document.title = innerWidth</script>");
  expect(await page.title()).toBe("360");
  expect(await page.getByRole("heading").innerText()).toBe("moored");
  const picture = await page.screenshot();
  expect(picture.subarray(1, 4).toString()).toBe("PNG");
  expect(picture.length).toBeGreaterThan(1000);
});
