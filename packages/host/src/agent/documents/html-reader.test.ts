import { expect, test } from "vitest";

import { readableHtml } from "../../util/text/html.ts";
import { readHtml } from "./html-reader.ts";

const base = "https://example.org/a/";
const paragraph = '<p>Tides &amp; <a href="../b">times</a> <b>of</b> the day.</p>\n';
const long = `<title>Tides</title>${paragraph.repeat(20_000)}`;
const never = new AbortController().signal;

test.each([
  ["short", paragraph],
  ["long", long],
])("a %s page gives the same text, wherever it is read", async (_, html) => {
  const job = { html, base, maxLength: 800_000 };
  expect(await readHtml(job, never)).toEqual({
    status: "read",
    text: readableHtml(html, base, job.maxLength),
  });
});

test("the event loop goes on while a long page is read", async () => {
  let turns = 0;
  let isRead = false;
  const count = (): void => {
    turns += 1;
    if (!isRead) setImmediate(count);
  };
  const reading = readHtml({ html: long, base, maxLength: 800_000 }, never);
  setImmediate(count);
  await reading;
  isRead = true;
  expect(turns).toBeGreaterThan(2);
});

test("a cancelled page is given up, before and while it is read", async () => {
  const job = { html: long, base, maxLength: 800_000 };
  const cancelled = { status: "unreadable", message: "Reading the page was cancelled." };
  expect(await readHtml(job, AbortSignal.abort())).toEqual(cancelled);
  const controller = new AbortController();
  const reading = readHtml(job, controller.signal);
  controller.abort();
  expect(await reading).toEqual(cancelled);
});
