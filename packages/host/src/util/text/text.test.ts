import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compileGlob } from "./glob.ts";
import { parsePatch, patchText } from "./patch.ts";
import { readableHtml } from "./html.ts";
import { showControls } from "./show-controls.ts";
import { unifiedDiff } from "./diff.ts";

const lines = fc.array(fc.constantFrom("a", "b", "c", "", " x"), { maxLength: 30 });
const texts = fc
  .tuple(lines, fc.boolean())
  .map(([all, ended]) => all.join("\n") + (ended ? "\n" : ""));

describe("unifiedDiff", () => {
  const turnsInto = (before: string, after: string): boolean => {
    const diff = unifiedDiff(before, after, 1_000_000);
    if (before === after) return diff === "";
    const parsed = parsePatch(`--- a/file\n+++ b/file\n${diff}\n`);
    if (!parsed.ok) return false;
    const patched = patchText(before, parsed.files[0]?.hunks ?? []);
    return patched.ok && patched.text === after;
  };

  test("turns any text into any other when applied as a patch", () => {
    fc.assert(fc.property(texts, texts, turnsInto), { numRuns: 300 });
  });

  test("turns a long text into another with different lines in one place", () => {
    const long = (count: number) => Array.from({ length: count }, (_, n) => `${n}\n`).join("");
    fc.assert(
      fc.property(texts, texts, fc.nat(12), fc.nat(12), (before, after, head, tail) =>
        turnsInto(long(head) + before + long(tail), long(head) + after + long(tail)),
      ),
      { numRuns: 300 },
    );
  });

  test("shows too many changes as one block, which is still a patch", () => {
    const numbered = (word: string, ended: string) =>
      `a\nb\nc\nd\n${Array.from({ length: 900 }, (_, n) => `${word}${n}`).join("\n")}${ended}`;
    expect(turnsInto(numbered("x", "\nz\n"), numbered("y", "\nz\n"))).toBe(true);
    expect(turnsInto(numbered("x", ""), numbered("y", "\n"))).toBe(true);
    expect(turnsInto("", numbered("y", ""))).toBe(true);
    expect(unifiedDiff(numbered("x", "\n"), numbered("y", "\n"))).toMatch(
      /^@@ -2,903 \+2,903 @@\n b\n c\n d\n-x0\n-x1\n/,
    );
  });

  test("shows a change with three lines of context", () => {
    const before = ["1", "2", "3", "4", "5", "6", "7", "8", "9", ""].join("\n");
    expect(unifiedDiff(before, before.replace("5", "five"))).toBe(
      "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8",
    );
  });

  test("ends on two long texts without common lines, and cuts the diff", () => {
    const before = Array.from({ length: 50_000 }, (_, n) => `a${n}`).join("\n");
    const diff = unifiedDiff(before, before.replaceAll("a", "b"));
    expect(diff.length).toBeLessThan(8_100);
    expect(diff).toMatch(/\[the rest of the diff is left out\]$/);
  });
});

describe("patchText", () => {
  const patch = (text: string, body: string) => {
    const parsed = parsePatch(body);
    return parsed.ok ? patchText(text, parsed.files[0]?.hunks ?? []) : parsed;
  };
  const header = "--- a/f\n+++ b/f\n";

  test("finds a hunk's lines elsewhere if there is one match, and does not guess", () => {
    const hunk = `${header}@@ -1,1 +1,1 @@\n-b\n+B\n`;
    expect(patch("a\nb\nc\n", hunk)).toEqual({ ok: true, text: "a\nB\nc\n" });
    const reasonFor = (text: string) => {
      const patched = patch(text, hunk);
      return patched.ok ? "" : patched.words;
    };
    expect(reasonFor("a\nb\nb\n")).toMatch(/more than once/);
    expect(reasonFor("a\nbb\n")).toMatch(/not in the file/);
    expect(reasonFor("a\nb \n")).toMatch(/not in the file/);
  });

  test("gives up on a hunk of identical lines in a file of such lines", () => {
    const count = 30_000;
    const hunk = `@@ -1,${count + 1} +1,${count} @@\n${" \n".repeat(count)}-x\n`;
    const parsed = parsePatch(`--- a/file\n+++ b/file\n${hunk}`);
    if (!parsed.ok) throw new Error(parsed.words);
    expect(patchText("\n".repeat(1_000_000), parsed.files[0]?.hunks ?? [])).toMatchObject({
      ok: false,
      words: expect.stringContaining("too long") as unknown,
    });
  });

  test("keeps line endings", () => {
    const hunk = `${header}@@ -1,2 +1,2 @@\n-a\n+A\n b\n`;
    expect(patch("a\r\nb\r\n", hunk)).toEqual({ ok: true, text: "A\r\nb\r\n" });
    expect(patch("a\nb", hunk)).toEqual({ ok: true, text: "A\nb" });
  });

  test.each([
    ["", /no --- and/],
    ["@@ -1 +1 @@\n-a\n+b\n", /needs a header/],
    ["--- a\n@@ -1 +1 @@\n", /followed by/],
    [header, /at least one hunk/],
    [`${header}@@ -1,3 +1,1 @@\n-a\n+b\n`, /ends before|not as many|begins with/],
    [`${header}@@ -1,1 +1,1 @@\n-a\n-b\n+b\n`, /not as many/],
    ["--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", /must be a file/],
    ["rename from a\nrename to b\n", /renames/],
    [`${header}@@ -99999999999,1 +1 @@\n`, /at least one hunk/],
  ])("%j is refused", (body, reason) => {
    const parsed = parsePatch(body);
    expect(parsed.ok ? "taken" : parsed.words).toMatch(reason);
  });
});

describe("compileGlob", () => {
  test.each([
    ["*.ts", "a.ts", true],
    ["*.ts", "a/b.ts", false],
    ["**/*.ts", "a/b.ts", true],
    ["**/*.ts", "b.ts", true],
    ["docs/**", "docs/a/b", true],
    ["docs/**", "docs", true],
    ["docs/**", "docs-2/a", false],
    ["a/**/z", "a/b/c/z", true],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["{a,b}/*.{js,ts}", "b/x.ts", true],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["*", "ä日", true],
  ])("%s and %s: %s", (pattern, path, expected) => {
    expect(compileGlob(pattern)?.(path)).toBe(expected);
  });

  test.each([
    "",
    "[a",
    "a\\",
    "{a,{b,c}}",
    "{a",
    "x".repeat(1_001),
    "{a,b}".repeat(7),
    "{*,?*}".repeat(6) + "*?".repeat(400),
  ])("rejects %j", (pattern) => {
    expect(compileGlob(pattern)).toBeNull();
  });

  test("matches patterns on which a regular expression would backtrack forever", () => {
    expect(compileGlob("*a".repeat(200))?.(`${"a".repeat(5_000)}b`)).toBe(false);
    expect(compileGlob(`${"**/".repeat(200)}x`)?.("a/".repeat(500))).toBe(false);
    expect(compileGlob("[a-z]*".repeat(160) + "1")?.("a".repeat(4_096))).toBe(false);
    expect(compileGlob(`${"**/*a*/".repeat(140)}b`)?.("aaa/".repeat(1_000))).toBe(false);
  });

  test("agrees with a regular expression on short patterns", () => {
    const glob = fc.array(fc.constantFrom("a", "b", ".", "*", "?", "/", "**/", "/**"), {
      minLength: 1,
      maxLength: 7,
    });
    const path = fc.array(fc.constantFrom("a", "b", ".", "/"), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(glob, path, (pieces, characters) => {
        const pattern = pieces.join("");
        const text = characters.join("");
        expect([pattern, text, compileGlob(pattern)?.(text)]).toEqual([
          pattern,
          text,
          expressionFor(pattern).test(`/${text}`),
        ]);
      }),
      { numRuns: 3_000 },
    );
  });

  /** Matches a path with a slash before each name. */
  function expressionFor(pattern: string): RegExp {
    const names = pattern.split("/").map((name) => {
      if (name === "**") return "(?:/[^/]*)*";
      const characters = name.replaceAll(/[.*?]/g, (special) =>
        special === "*" ? "[^/]*" : special === "?" ? "[^/]" : "\\.",
      );
      return `/${characters}`;
    });
    return new RegExp(`^${names.join("")}$`);
  }
});

describe("readableHtml", () => {
  const read = (html: string, maxLength = 10_000) =>
    readableHtml(html, "https://example.org/a/", maxLength);

  test("turns a page into text with headings, lists and links, without scripts", () => {
    expect(
      read(`<!doctype html><html><head><title>A &amp; B</title><style>p{}</style></head>
        <body><h2>One</h2><p>Some <b>bold</b>
        words&hellip;</p><ul><li><a href="/x?a=1&amp;b">link</a></li><li>two</li></ul>
        <script>alert("<p>no</p>")</script><pre>  kept\n  so</pre><!-- <p>no</p> -->
        <a href="javascript:alert(1)">js</a> 1 < 2 &#x41;&#0;</body></html>`),
    ).toBe(
      "# A & B\n\n## One\n\nSome bold words…\n\n- link (https://example.org/x?a=1&b)\n- two\n\n  kept\n  so\n\njs 1 < 2 A\uFFFD",
    );
  });

  test.each([
    ['<a title="a>b" href=/z>link</a>', "link (https://example.org/z)"],
    ["<a href='/1' href='/2'>twice</a>", "twice (https://example.org/1)"],
    ["&Eacute;&lambda;&rarr;&copy 2020 &notit; &#128; &unknown;", "Éλ→© 2020 ¬it; € &unknown;"],
    ["a&nbsp; &nbsp;b", "a b"],
    ["<head><title>T</title><body><p>no end of head", "# T\n\nno end of head"],
    ["<svg><title>no</title><path/></svg><svg/>after", "after"],
    ["<svg><svg></svg>still hidden</svg>shown", "shown"],
    ["<script/>hidden</script>shown", "shown"],
    ["<textarea><b>raw</b></textarea>", "<b>raw</b>"],
    ["<!-->shown<!-- a -- b -->, too", "shown, too"],
    ["<STYLE>x</sTyLe ><P>shown</P>", "shown"],
    ["<p>one<p>two<table><tr><td>1<td>2</table>", "one\n\ntwo\n\n | 1 | 2"],
  ])("%s reads %j", (html, expected) => {
    expect(read(html)).toBe(expected);
  });

  test.each([
    "<",
    "<script",
    "<!--",
    "<a href=",
    "&#x;",
    "</",
    "<p ".repeat(20_000),
    "<a href='".repeat(20_000),
    "<script>".repeat(20_000),
    "&".repeat(100_000),
    `<pre>${" ".repeat(200_000)}`,
    "<ul>".repeat(20_000),
    "<div>".repeat(300_000) + "</x>".repeat(300_000),
    "<b><i>".repeat(300_000),
    "<svg>".repeat(300_000),
    `<a ${"a=b c ".repeat(300_000)}`,
    "<title ".repeat(300_000),
  ])("ends on a broken page", (html) => {
    expect(read(html, 60_000).length).toBeLessThanOrEqual(60_000);
  });

  test("returns a text for any input", () => {
    const tokens = fc.constantFrom(
      "<",
      ">",
      "</",
      "p",
      "script",
      "a href=",
      '"',
      "&amp;",
      "-->",
      "<!--",
      " ",
    );
    fc.assert(
      fc.property(
        fc.array(tokens).map((all) => all.join("")),
        (html) => typeof read(html) === "string",
      ),
    );
  });
});

test("[safety] blanks, fillers and format characters of every script are shown", () => {
  for (const character of [
    "\u2800",
    "\u00A0",
    "\u{1D173}",
    "\u{13430}",
    "\u0600",
    "\u{1D159}",
    "\u3000",
  ])
    expect(showControls(`a${character}b`)).toMatch(/^a\\u\{[0-9A-F]+\}b$/);
});

test("showControls shows invisible characters", () => {
  expect(showControls("a\u202Eb\u0007c\u200Dd\uFEFFe\u{E0041}\nf\tg ä日🙂")).toBe(
    "a\\u{202E}b\\u{0007}c\\u{200D}d\\u{FEFF}e\\u{E0041}\nf\tg ä日🙂",
  );
  expect(showControls("\u001B[2Jx\r")).toBe("\\u{001B}[2Jx\\u{000D}");
  expect(showControls("\uD800")).toBe("\\u{D800}");
});
