import { z } from "zod";

const logLine = z.looseObject({
  level: z.string(),
  time: z.string(),
  msg: z.string().optional(),
  stack: z.string().optional(),
});

const hiddenFields: ReadonlySet<string> = new Set(["level", "time", "msg", "stack", "pid"]);

/** A line of the log as a person reads it in a terminal. */
export function prettyLine(json: string): string {
  let parsed;
  try {
    parsed = logLine.safeParse(JSON.parse(json));
  } catch {
    return escapeControls(json);
  }
  if (!parsed.success) return escapeControls(json);
  const { level, time, msg = "", stack } = parsed.data;
  const fields = Object.entries(parsed.data)
    .filter(([name]) => !hiddenFields.has(name))
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const head = [time.slice(11, 19), level.toUpperCase().padEnd(5), msg, ...fields].join(" ");
  return stack === undefined || stack === ""
    ? escapeControls(head)
    : `${escapeControls(head)}\n${escapeControls(stack)}`;
}

/** What came from outside moves no cursor and paints nothing. */
function escapeControls(text: string): string {
  return text.replaceAll(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, "\ufffd");
}
