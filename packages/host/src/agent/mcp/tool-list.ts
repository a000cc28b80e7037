import { createHash } from "node:crypto";

/** What every provider takes as the name of a tool. */
const longest = 64;
const between = "__";

/**
 * What a server's tool is called here. A name that does not fit is made to fit, with a piece of its own hash: it depends on
 * the server and the tool alone, whatever else there is and in whichever order it came.
 */
export function nameTool(server: string, tool: string): string {
  const plain = `${server}${between}${tool}`;
  if (/^[A-Za-z0-9_-]+$/.test(tool) && plain.length <= longest) return plain;
  const tail = `_${createHash("sha256").update(plain).digest("hex").slice(0, 8)}`;
  const made = `${server}${between}${tool.replaceAll(/[^A-Za-z0-9_-]+/g, "_")}`;
  return `${made.slice(0, longest - tail.length)}${tail}`;
}
