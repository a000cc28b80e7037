import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { replaceAnswers, answers, createPageRig, send, untilDone } from "./page-rig.ts";

const rig = createPageRig();
const fence = (language: string, ...lines: string[]) =>
  ["```" + language, ...lines, "```"].join("\n");

/** Opens a tab with this answer, and records its requests. */
async function openAnswer(text: string, prepare?: (tab: Page) => Promise<void>) {
  const { tab, consoleErrors } = await rig.openTab({ colorScheme: "light" });
  const requests: string[] = [];
  tab.on("request", (request) => requests.push(request.url()));
  // Requests that the content security policy blocks never get this far.
  const externalRequests: string[] = [];
  await tab.route("https://**", (route) => {
    externalRequests.push(route.request().url());
    return route.fulfill({ body: "" });
  });
  await send(tab, "hello {words:3}");
  await untilDone(tab);
  const requestsBefore = [...requests];
  await prepare?.(tab);
  await replaceAnswers(tab, text);
  return { tab, consoleErrors, externalRequests, requestsBefore };
}

const frameOf = (tab: Page) => tab.frames().find((frame) => frame.url().endsWith("frame.html"));

test("formulas and diagrams load on demand, are accessible, show their source, and follow the theme", async () => {
  const text = [
    "The energy $E = mc^2$ costs $5 or $10.",
    "$$\n\\int_0^1 x\\,dx = \\frac12\n$$",
    fence("mermaid", "flowchart LR", "accTitle: How it travels", "A[Page] --> B[Host]"),
    fence("mermaid", "this is no diagram"),
    fence("math", "\\notacommand{"),
  ].join("\n\n");
  const { tab, consoleErrors, externalRequests, requestsBefore } = await openAnswer(text);
  const answer = answers(tab);
  const picture = answer.getByRole("img", { name: "How it travels" });
  await picture.waitFor();
  // Before the first formula no renderer was loaded.
  expect(requestsBefore.filter((url) => /frame|katex|formula|mermaid|drawing/i.test(url))).toEqual(
    [],
  );
  expect(externalRequests).toEqual([]);
  await answer.locator("math").first().waitFor({ state: "attached" });
  expect(await answer.locator("math annotation").allTextContents()).toEqual([
    "E = mc^2",
    "\\int_0^1 x\\,dx = \\frac12",
  ]);
  expect(await answer.locator("p").first().innerText()).toContain("costs $5 or $10.");
  const light = await picture.getAttribute("src");
  expect(light).toMatch(/^data:image\/svg\+xml/);
  // What cannot be drawn is shown as source.
  await answer.getByText("this is no diagram").waitFor();
  await answer.getByText("\\notacommand{").waitFor();
  await answer.getByText("This could not be drawn").first().waitFor();
  await answer.getByRole("button", { name: "Source", exact: true }).click();
  await answer.getByText("A[Page] --> B[Host]").waitFor();

  await tab.emulateMedia({ colorScheme: "dark" });
  await expect.poll(() => picture.getAttribute("src")).not.toBe(light);
  expect(consoleErrors).toEqual([]);
});

const hostile = [
  fence(
    "math",
    "\\href{javascript:parent.owned=1}{x} \\includegraphics{https://tracker.example/a.png}",
  ),
  "$\\htmlStyle{position:fixed}{\\class{backdrop}{y}}$ $\\rule{9999em}{9999em}$",
  "$$\\def\\a{\\b\\b}\\def\\b{\\a\\a}\\a$$",
  fence(
    "mermaid",
    '%%{init: {"securityLevel": "loose", "htmlLabels": true, "themeCSS": "@import url(https://tracker.example/a.css);"}}%%',
    "flowchart LR",
    "accTitle: First",
    'A["<img src=https://tracker.example/b.png onerror=parent.owned=2><script>parent.owned=3</script>"] --> B',
    'click A href "javascript:parent.owned=4"',
    'click B call alert("x")',
  ),
  fence(
    "mermaid",
    "---",
    "config:",
    "  securityLevel: loose",
    "  layout: elk",
    "---",
    "flowchart LR",
    "accTitle: Second",
    'C@{ img: "https://tracker.example/c.png", label: "x" } --> D',
  ),
  fence(
    "mermaid",
    "flowchart LR",
    ...Array.from({ length: 2_000 }, (_, index) => `N${index} --> N${index + 1}`),
  ),
].join("\n\n");

test("[safety] a hostile formula or diagram reaches neither the page nor the host nor the network", async () => {
  const { tab, externalRequests } = await openAnswer(hostile);
  const answer = answers(tab);
  await answer.getByRole("img", { name: "First" }).waitFor();
  // The last diagram is too large and refused, so all before it have been drawn by now.
  await answer.getByText("This could not be drawn").last().waitFor();
  expect(await tab.evaluate(() => "owned" in window)).toBe(false);
  expect(externalRequests).toEqual([]);
  const found = await answer.evaluate((root) => ({
    elements: [...root.querySelectorAll("a, script, iframe, object, foreignObject, style, image")]
      .length,
    handlers: [...root.querySelectorAll("*")]
      .flatMap((element) => element.getAttributeNames())
      .filter((name) => name.startsWith("on") || name === "href"),
    wide: root.getBoundingClientRect().width > innerWidth,
  }));
  expect(found).toEqual({ elements: 0, handlers: [], wide: false });

  // The frame itself has no origin, cookies or network, and no access to the page or to navigation.
  const outcomes = await frameOf(tab)?.evaluate(async () => {
    const attempt = async (action: () => unknown): Promise<string> => {
      try {
        await action();
        return "done";
      } catch (error) {
        return error instanceof Error ? error.name : "refused";
      }
    };
    return [
      self.origin,
      await attempt(() => parent.document.body),
      await attempt(() => document.cookie),
      await attempt(() => localStorage),
      await attempt(() => fetch("/health")),
      await attempt(() => {
        const script = document.createElement("script");
        script.textContent = "throw new Error('it ran')";
        let ran = false;
        addEventListener("error", () => (ran = true));
        document.body.append(script);
        if (!ran) throw new TypeError("The script did not run.");
      }),
      await attempt(() => (top ?? window).location.assign("https://tracker.example")),
    ];
  });
  const denied = "SecurityError";
  expect(outcomes).toEqual(["null", denied, denied, denied, "TypeError", "TypeError", denied]);
});

test("[safety] a drawing that never ends blocks nothing: its frame is closed and its source is shown", async () => {
  const { tab } = await openAnswer("before $x^2$ after", async (page) => {
    // The test fires the timeout of a drawing itself.
    await page.addInitScript(() => {
      const realSetTimeout = setTimeout;
      const controlledSetTimeout = (callback: () => void, ms = 0) => {
        if (ms !== 10_000) return realSetTimeout(callback, ms);
        Reflect.set(window, "fireDrawTimeout", callback);
        return 0;
      };
      Reflect.set(window, "setTimeout", controlledSetTimeout);
    });
    await page.route("**/assets/frame-*.js", (route) =>
      route.fulfill({
        contentType: "text/javascript",
        headers: { "access-control-allow-origin": "null" },
        body: "addEventListener('message', () => { for (;;); });",
      }),
    );
  });
  await tab.locator("iframe.drawing-frame").waitFor({ state: "attached" });
  // The page stays responsive while the frame loops.
  await tab.getByRole("textbox", { name: "Message" }).fill("still here");
  await tab.evaluate(() => {
    const { fireDrawTimeout } = window as unknown as { fireDrawTimeout: () => void };
    fireDrawTimeout();
  });
  await tab.locator("iframe.drawing-frame").waitFor({ state: "detached" });
  expect(await answers(tab).locator("code").allInnerTexts()).toEqual(["x^2"]);
});
