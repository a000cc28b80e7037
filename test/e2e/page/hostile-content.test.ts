import { expect, test } from "vitest";
import { replaceAnswers, answers, createPageRig, send, sessionOf, untilDone } from "./page-rig.ts";

const rig = createPageRig();

const hostile = [
  "<script>window.owned = 1</script>",
  "<img src=x onerror='window.owned = 2'>",
  "<svg onload='window.owned = 3'><script>window.owned = 4</script></svg>",
  "<a href='javascript:window.owned = 5'>raw link</a>",
  "[script link](javascript:window.owned=6)",
  "[data link](data:text/html,<script>window.owned=7</script>)",
  "[entity link](&#106;avascript:window.owned=8)",
  "![remote](https://tracker.example/pixel.png)",
  "![svg](data:image/svg+xml;base64,PHN2Zz4=)",
  "<iframe src='https://tracker.example'></iframe>",
  "<form action='https://tracker.example'><input name=token></form>",
  "<style>body { display: none }</style>",
  "<div style='position:fixed;inset:0' id=page class=backdrop>covers</div>",
  "<details open ontoggle='window.owned = 9'><summary>fold</summary>inside</details>",
  "`inline <b>code</b>`",
  "<math><mtext><table><mglyph><style><img src=x onerror='window.owned=10'></table></math>",
  "```html\n<img src=x onerror='window.owned = 11'>\n```",
  "```js\n// \u202e } ;hidden\u2066\nlet a = 1;\n```",
].join("\n\n");

test("[safety] hostile content is shown as text: no script, handler, unsafe link or external request", async () => {
  const { tab, consoleErrors } = await rig.openTab();
  const requests: string[] = [];
  tab.on("request", (request) => requests.push(request.url()));
  await send(tab, "<b>not bold</b> <script>window.owned = 12</script> {words:3}");
  await untilDone(tab);
  await replaceAnswers(tab, hostile);
  await answers(tab).getByText("raw link").waitFor();
  await answers(tab).locator("code.hljs, pre code span").first().waitFor();

  expect(await tab.evaluate(() => "owned" in window)).toBe(false);
  const found = await answers(tab).evaluate((root) => {
    const all = [...root.querySelectorAll("*")];
    return {
      elements: all
        .map((element) => element.localName)
        .filter((name) => /^(script|iframe|form|style|object|embed|link|base|math)$/.test(name)),
      attributes: all
        .flatMap((element) => element.getAttributeNames())
        .filter((name) => name.startsWith("on") || name === "style" || name === "id"),
      links: [...root.querySelectorAll("a")].map((link) => link.protocol),
      images: [...root.querySelectorAll("img")].map((image) => image.src),
    };
  });
  expect(found.elements).toEqual([]);
  expect(found.attributes.filter((name) => name !== "id")).toEqual([]);
  expect(found.images).toEqual([]);
  expect(new Set(found.links)).toEqual(new Set(["https:"]));
  expect(
    requests.filter((url) => !url.startsWith(rig.address()) && !url.startsWith("data:")),
  ).toEqual([]);
  // Characters that reorder text are shown by their code point.
  await answers(tab).getByText("U+202E").waitFor();
  await tab.getByRole("article", { name: "You" }).getByText("<b>not bold</b>").waitFor();
  // The browser logs each inline style that the policy blocked, and nothing else.
  expect(consoleErrors.filter((text) => !text.startsWith("Applying inline style"))).toEqual([]);
});

test("a hostile title, a giant line and a wide table do not break the layout", async () => {
  const { tab } = await rig.openTab({ viewport: { width: 360, height: 640 } });
  await send(tab, `${"x".repeat(4000)} {words:3}`);
  await untilDone(tab);
  const title = "<img src=x onerror='window.owned=1'>\u202egnp.exe";
  const id = sessionOf(tab);
  await rig.client().changeSession({ params: { id }, body: { title } });
  await replaceAnswers(
    tab,
    `${"y".repeat(20_000)}\n\n| a | b |\n|---|---|\n| ${"z".repeat(3000)} | 1 |`,
  );
  await tab.locator(".talk-title").getByText("<img src=x").waitFor();
  expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  expect(await tab.evaluate(() => "owned" in window)).toBe(false);
});

test("[safety] Trusted Types and the content security policy refuse to turn text into markup or code", async () => {
  const { tab } = await rig.openTab();
  const outcomes = await tab.evaluate(() => {
    const attempt = (action: () => unknown): string => {
      try {
        action();
        return "done";
      } catch (error) {
        return error instanceof Error ? error.name : "refused";
      }
    };
    return [
      attempt(() => (document.body.innerHTML = "<b>x</b>")),
      attempt(() => document.createElement("script").setAttribute("src", "data:,1")),
      attempt(() => Reflect.get(window, "trustedTypes").createPolicy("another", {})),
    ];
  });
  expect(outcomes).toEqual(["TypeError", "TypeError", "TypeError"]);
});
