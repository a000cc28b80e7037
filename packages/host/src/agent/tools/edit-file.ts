import { z } from "zod";
import type { Tool } from "@holdfast/engine";
import { defineTool, failed } from "./define-tool.ts";
import {
  changeResult,
  describeChange,
  type FileToolDeps,
  openWorkspace,
  readTextFile,
} from "./file-tool.ts";

const maxLines = 20_000;
const shownLines = 8;
const longestLine = 300;

/**
 * Where a missing text would most likely be: the lines around the one most similar to its first non-empty line. `null`
 * if nothing is similar.
 */
function nearestLines(text: string, wanted: string): string | null {
  const first = wanted.split("\n").find((line) => line.trim() !== "");
  if (first === undefined) return null;
  const pairs = pairsOf(first);
  let best = { at: -1, score: 0.4 };
  const lines = text.split("\n", maxLines);
  for (const [at, line] of lines.entries()) {
    const score = similarity(pairs, pairsOf(line));
    if (score > best.score) best = { at, score };
    if (score === 1) break;
  }
  if (best.at === -1) return null;
  const from = Math.max(0, best.at - 2);
  const shown = lines.slice(from, from + shownLines);
  return shown.map((line, n) => `${from + n + 1}\t${line.slice(0, longestLine)}`).join("\n");
}

/** A line's character pairs, ignoring whitespace. */
function pairsOf(line: string): ReadonlySet<string> {
  const plain = line.slice(0, longestLine).replace(/\s+/g, " ").trim();
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < plain.length; at += 1) pairs.add(plain.slice(at, at + 2));
  return pairs;
}

/** The Dice coefficient. */
function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  if (one.size + other.size === 0) return 0;
  let both = 0;
  for (const pair of other) if (one.has(pair)) both += 1;
  return (2 * both) / (one.size + other.size);
}

const input = z.strictObject({
  path: z.string().min(1).max(4_096),
  old: z.string().min(1).describe("The text to replace, exactly as it stands in the file."),
  new: z.string().describe("What to put in its place."),
  occurrences: z
    .enum(["one", "all"])
    .optional()
    .describe(
      "`one` (unless told): the text must stand in the file once. `all`: each is replaced.",
    ),
});

export function createEditFile(parts: FileToolDeps): Tool {
  return defineTool({
    name: "edit_file",
    description:
      "Replaces a text in a file of the workspace. The text must be given exactly, with its spaces and line ends, and enough of it to be found once.",
    input,
    replay: "never",
    asks: "ask",
    place: (call) => parts.workspaces.folderFor(call),
    async run({ path, old, new: fresh, occurrences = "one" }, call) {
      if (old === fresh) return failed("The new text is the old one: there is nothing to change.");
      const jail = await openWorkspace(parts, call);
      const read = await readTextFile(jail, path);
      if (!("ok" in read)) return read;
      if (!read.ok) return failed(read.refusal.message);
      const pieces = read.value.split(old);
      const found = pieces.length - 1;
      if (found === 0) return failed(notFound(read.value, old));
      if (found > 1 && occurrences === "one")
        return failed(
          `The text stands in the file ${found} times. Give more of what is around it.`,
        );
      const after = pieces.join(fresh).toWellFormed();
      const written = await jail.write(path, after);
      if (!written.ok) return failed(written.refusal.message);
      const times = found === 1 ? "one place" : `${found} places`;
      return changeResult(`Changed ${written.value} in ${times}.`, [
        describeChange(written.value, read.value, after),
      ]);
    },
  });
}

function notFound(text: string, old: string): string {
  const words = ["The text does not stand in the file exactly so."];
  if (text.includes("\r\n") && old.includes("\n") && !old.includes("\r\n"))
    words.push("The file's lines end with CRLF.");
  const near = nearestLines(text, old);
  if (near !== null) words.push(`What comes nearest:\n${near}`);
  return words.join(" ");
}
