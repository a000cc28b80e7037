import { createHash } from "node:crypto";

/** What every provider takes as the name of a tool. */
const maxToolNameLength = 64;
const nameSeparator = "__";

/**
 * What a server's tool is called here. A name that does not fit is made to fit, with a piece of its own hash: it depends on
 * the server and the tool alone, whatever else there is and in whichever order it came.
 */
export function nameTool(server: string, tool: string): string {
  const plain = `${server}${nameSeparator}${tool}`;
  if (/^[A-Za-z0-9_-]+$/.test(tool) && plain.length <= maxToolNameLength) return plain;
  const tail = `_${createHash("sha256").update(plain).digest("hex").slice(0, 8)}`;
  const made = `${server}${nameSeparator}${tool.replaceAll(/[^A-Za-z0-9_-]+/g, "_")}`;
  return `${made.slice(0, maxToolNameLength - tail.length)}${tail}`;
}
