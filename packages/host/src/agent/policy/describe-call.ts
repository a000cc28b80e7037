import type { Json } from "@holdfast/protocol";
import { z } from "zod";

import { showControls } from "../../util/text/show-controls.ts";
import type { ToolQuestion } from "./match-rules.ts";

const maxDescriptionLength = 8_000;

const terminal = z.looseObject({
  command: z.union([z.string(), z.array(z.string())]),
  folder: z.string().optional(),
  background: z.boolean().optional(),
});
const writing = z.looseObject({ path: z.string(), content: z.string() });
const editing = z.looseObject({
  path: z.string(),
  old: z.string(),
  new: z.string(),
  occurrences: z.string().optional(),
});
const patching = z.looseObject({ patch: z.string() });
const fetching = z.looseObject({ url: z.string() });

/**
 * What exactly a call would do, for the person who decides. Nothing can hide in it: invisible characters are escaped,
 * each argument has its own line, and omitted ones are counted.
 */
export function describeCall(question: ToolQuestion): string {
  const text = showControls(describeInput(question));
  if (text.length <= maxDescriptionLength) return text;
  const hidden = text.length - maxDescriptionLength;
  return `${text.slice(0, maxDescriptionLength).toWellFormed()}\n[${hidden} more characters are not shown here: look at all of its arguments before you allow it]`;
}

function describeInput({ name, input, place = "" }: ToolQuestion): string {
  switch (name) {
    case "terminal":
      return describeTerminal(input, place) ?? describeJson(name, input);
    case "write_file": {
      const data = writing.safeParse(input).data;
      if (data === undefined) break;
      const { path, content, ...rest } = data;
      const bytes = Buffer.byteLength(content);
      return `Writes ${bytes} bytes to ${JSON.stringify(path)} in ${place}${describeOtherArguments(rest)}:\n${content}`;
    }
    case "edit_file": {
      const data = editing.safeParse(input).data;
      if (data === undefined) break;
      const { path, old, new: fresh, occurrences, ...rest } = data;
      const sides = [...prefixLines("-", old), ...prefixLines("+", fresh)];
      const where = `${JSON.stringify(path)} in ${place}`;
      const what =
        occurrences === "all"
          ? `Changes every occurrence in ${where}`
          : `Changes ${where}${describeOtherArguments({ ...(occurrences !== undefined && { occurrences }) })}`;
      return [`${what}${describeOtherArguments(rest)}:`, ...sides].join("\n");
    }
    case "apply_patch": {
      const data = patching.safeParse(input).data;
      if (data === undefined) break;
      const { patch, ...rest } = data;
      return `Applies a patch in ${place}${describeOtherArguments(rest)}:\n${patch}`;
    }
    case "fetch_url": {
      const url = URL.parse(fetching.safeParse(input).data?.url ?? "");
      if (url === null) break;
      // In punycode, so that a look-alike name is visible.
      return `Fetches ${url.href}\nfrom the host ${url.hostname}`;
    }
    default:
  }
  return describeJson(name, input);
}

function describeTerminal(input: Json, place: string): string | undefined {
  const data = terminal.safeParse(input).data;
  if (data === undefined) return undefined;
  const { command, folder, background, ...rest } = data;
  const how = background === true ? " in the background," : "";
  const within = folder === undefined ? place : `${place}, in ${JSON.stringify(folder)}`;
  const where = `${how} in ${within}${describeOtherArguments(rest)}`;
  if (typeof command === "string") return `Gives this line to a shell${where}:\n${command}`;
  return [`Runs${where}:`, ...command.map((word) => `  ${JSON.stringify(word)}`)].join("\n");
}

/** Before the argument that may be long, so that these are never cut off. */
function describeOtherArguments(rest: Readonly<Record<string, unknown>>): string {
  return Object.entries(rest)
    .map(([name, value]) => `, ${name} ${JSON.stringify(value)}`)
    .join("");
}

function prefixLines(sign: string, text: string): readonly string[] {
  return text.split("\n").map((line) => `${sign}${line}`);
}

function describeJson(name: string, input: Json): string {
  return `Calls ${name} with ${JSON.stringify(input, null, 2)}`;
}
