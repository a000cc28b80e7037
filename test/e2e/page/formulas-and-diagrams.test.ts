import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { replaceAnswers, answers, createPageRig, say, untilDone } from "./page-rig.ts";

const rig = createPageRig();
const fence = (language: string, ...lines: string[]) =>
  ["```" + language, ...lines, "```"].join("\n");

/** A tab with an answer, and every file that was asked for. */
async function openAnswer(text: string, before?: (tab: Page) => Promise<void>) {
  const { tab, complaints } = await rig.openTab({ colorScheme: "light" });
  const asked: string[] = [];
  tab.on("request", (request) => asked.push(request.url()));
  // What a policy keeps back never comes so far.
  const sentAway: string[] = [];
  await tab.route("https://**", (route) => {
    sentAway.push(route.request().url());
    return route.fulfill({ body: "" });
  });
  await say(tab, "hello {words:3}");
  await untilDone(tab);
  const plain = [...asked];
  await before?.(tab);
  await replaceAnswers(tab, text);
  return { tab, complaints, sentAway, plain };
}

const frameOf = (tab: Page) => tab.frames().find((frame) => frame.url().endsWith("frame.html"));

test("formulas and diagrams are drawn when an answer has some, can be read aloud and copied, and follow the theme", async () => {
  const text = [
    "The energy $E = mc^2$ costs $5 or $10.",
    "$$\n\\int_0^1 x\\,dx = \\frac12\n$$",
    fence("mermaid", "flowchart LR", "accTitle: How it travels", "A[Page] --> B[Host]"),
    fence("mermaid", "this is no diagram"),
    fence("math", "\\notacommand{"),
  ].join("\n\n");
  const { tab, complaints, sentAway, plain } = await openAnswer(text);
  const answer = answers(tab);
  const picture = answer.getByRole("img", { name: "How it travels" });
  await picture.waitFor();
  // Nothing of it was loaded for those who write no formulas.
  expect(plain.filter((url) => /frame|katex|formula|mermaid|drawing/i.test(url))).toEqual([]);
  expect(sentAway).toEqual([]);
  await answer.locator("math").first().waitFor({ state: "attached" });
  expect(await answer.locator("math annotation").allTextContents()).toEqual([
    "E = mc^2",
    "\\int_0^1 x\\,dx = \\frac12",
  ]);
  expect(await answer.locator("p").first().innerText()).toContain("costs $5 or $10.");
  const light = await picture.getAttribute("src");
  expect(light).toMatch(/^data:image\/svg\+xml/);
  // What cannot be drawn stands as it was written.
  await answer.getByText("this is no diagram").waitFor();
  await answer.getByText("\\notacommand{").waitFor();
  await answer.getByText("It could not be drawn").first().waitFor();
  await answer.getByRole("button", { name: "Source", exact: true }).click();
  await answer.getByText("A[Page] --> B[Host]").waitFor();

  await tab.emulateMedia({ colorScheme: "dark" });
  await expect.poll(() => picture.getAttribute("src")).not.toBe(light);
  expect(complaints).toEqual([]);
});

const hostile = [
  fence(
    "math",
    "\\href{javascript:parent.owned=1}{x} \\includegraphics{https://tracker.example/a.png}",
  ),
  "$\\htmlStyle{position:fixed}{\\class{veil}{y}}$ $\\rule{9999em}{9999em}$",
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
    ...Array.from({ length: 2_000 }, (_, each) => `N${each} --> N${each + 1}`),
  ),
].join("\n\n");

test("[safety] a hostile formula or diagram reaches neither the page nor the host nor anybody else", async () => {
  const { tab, sentAway } = await openAnswer(hostile);
  const answer = answers(tab);
  await answer.getByRole("img", { name: "First" }).waitFor();
  // The last one, which is too large, is given up; so all before it have been through.
  await answer.getByText("It could not be drawn").last().waitFor();
  expect(await tab.evaluate(() => "owned" in window)).toBe(false);
  expect(sentAway).toEqual([]);
  const found = await answer.evaluate((root) => ({
    elements: [...root.querySelectorAll("a, script, iframe, object, foreignObject, style, image")]
      .length,
    handlers: [...root.querySelectorAll("*")]
      .flatMap((each) => each.getAttributeNames())
      .filter((name) => name.startsWith("on") || name === "href"),
    wide: root.getBoundingClientRect().width > innerWidth,
  }));
  expect(found).toEqual({ elements: 0, handlers: [], wide: false });

  // The frame itself: no origin, no cookie, no network, no way to the page or out of its place.
  const tried = await frameOf(tab)?.evaluate(async () => {
    const attempt = async (what: () => unknown): Promise<string> => {
      try {
        await what();
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
        if (!ran) throw new TypeError("It was not run.");
      }),
      await attempt(() => (top ?? window).location.assign("https://tracker.example")),
    ];
  });
  const no = "SecurityError";
  expect(tried).toEqual(["null", no, no, no, "TypeError", "TypeError", no]);
});

test("[safety] a drawing that never ends holds nobody up: its frame is ended and its source stands", async () => {
  const { tab } = await openAnswer("before $x^2$ after", async (page) => {
    // The time that a drawing has is over when the test says so.
    await page.addInitScript(() => {
      const wait = setTimeout;
      const held = (act: () => void, ms = 0) => {
        if (ms !== 10_000) return wait(act, ms);
        Reflect.set(window, "letTimePass", act);
        return 0;
      };
      Reflect.set(window, "setTimeout", held);
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
  // The page answers while the frame turns in its circle.
  await tab.getByRole("textbox", { name: "Message" }).fill("still here");
  await tab.evaluate(() => {
    const { letTimePass } = window as unknown as { letTimePass: () => void };
    letTimePass();
  });
  await tab.locator("iframe.drawing-frame").waitFor({ state: "detached" });
  expect(await answers(tab).locator("code").allInnerTexts()).toEqual(["x^2"]);
});
