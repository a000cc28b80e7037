import { expect, test } from "vitest";

import { createRedactor } from "../secrets/redact.ts";
import { createLogger, type LoggerOptions } from "./logger.ts";

function telling(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const logger = createLogger({
    level: "info",
    format: "json",
    redact: createRedactor(() => ["the-token-of-the-host"]),
    write: (line) => lines.push(line),
    ...options,
  });
  return { logger, lines };
}

test("a line is JSON with its level, time and fields, and lines below the level are dropped", async () => {
  const { logger, lines } = telling();
  logger.debug("too quiet");
  logger.info("first", { status: 200, absent: undefined });
  logger.error("second");
  await logger.flush();
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({ level: "info", msg: "first", status: 200 }),
    expect.objectContaining({ level: "error", msg: "second" }),
  ]);
});

test("secrets are redacted by field name, by form, and if the host knows them", async () => {
  const { logger, lines } = telling();
  const key = `sk-ant-${"x1".repeat(20)}`;
  logger.warn(`The provider refused ${key}`, {
    authorization: "anything",
    cookie: "holdfast=anything",
    headers: { note: "Bearer abcdefghijklmnop" },
    url: "postgres://me:hunter22@db/x",
    text: "it was the-token-of-the-host",
  });
  logger.report(new Error(`401 from the provider for ${key}`));
  await logger.flush();
  const all = lines.join("\n");
  for (const secret of [key, "anything", "abcdefghijklmnop", "hunter22", "the-token-of-the-host"])
    expect(all).not.toContain(secret);
  expect(lines).toHaveLength(2);
});

test("silent logs nothing, and a bug has its stack", async () => {
  const { logger, lines } = telling({ level: "silent" });
  logger.report(new Error("a bug"));
  await logger.flush();
  expect(lines).toEqual([]);
  const loud = telling();
  loud.logger.report(new Error("a bug"), { requestId: "r" });
  await loud.logger.flush();
  const line = JSON.parse(loud.lines[0] ?? "") as Record<string, string>;
  expect(line).toMatchObject({ msg: "a bug", requestId: "r" });
  expect(line["stack"]).toContain("logger.test.ts");
});

test("pretty lines are short, and untrusted text cannot control the terminal", async () => {
  const { logger, lines } = telling({ format: "pretty" });
  logger.info("request", { path: "/a\u001b[2J\u202e", status: 404 });
  await logger.flush();
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d INFO  request path=\/a\ufffd\[2J\ufffd status=404$/);
});

test("[safety] a line break in a request's path or in an error forges no line of the log", async () => {
  const { logger, lines } = telling({ format: "pretty" });
  logger.info("request", { path: "/\n12:00:00 INFO  forged\u2028too", status: 404 });
  logger.report(new Error("bad input\n12:00:00 INFO  forged"));
  await logger.flush();
  const shown = lines.join("\n").split("\n");
  expect(shown[0]).toContain("path=/\\n12:00:00 INFO  forged\ufffdtoo status=404");
  expect(shown.filter((line) => /^\d\d:/.test(line))).toHaveLength(2);
});
