import type { Json } from "@holdfast/protocol";
import { z } from "zod";

import { showControls } from "../../util/text/show-controls.ts";
import type { Asked } from "./match-rules.ts";

const longestShown = 8_000;

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
 * What exactly a call would do, for the person who decides. Nothing in it can hide: characters that cannot be seen are
 * written out, arguments stand each on a line of its own, and what is left out is counted.
 */
export function describeCall(asked: Asked): string {
  const shown = showControls(inWords(asked));
  if (shown.length <= longestShown) return shown;
  const left = shown.length - longestShown;
  return `${shown.slice(0, longestShown).toWellFormed()}\n[${left} more characters are not shown here: look at all of its arguments before you allow it]`;
}

function inWords({ name, input, place = "" }: Asked): string {
  switch (name) {
    case "terminal":
      return terminalWords(input, place) ?? plainWords(name, input);
    case "write_file": {
      const data = writing.safeParse(input).data;
      if (data === undefined) break;
      const { path, content, ...rest } = data;
      const bytes = Buffer.byteLength(content);
      return `Writes ${bytes} bytes to ${JSON.stringify(path)} in ${place}${also(rest)}:\n${content}`;
    }
    case "edit_file": {
      const data = editing.safeParse(input).data;
      if (data === undefined) break;
      const { path, old, new: fresh, occurrences, ...rest } = data;
      const sides = [...marked("-", old), ...marked("+", fresh)];
      const where = `${JSON.stringify(path)} in ${place}`;
      const what =
        occurrences === "all"
          ? `Changes every occurrence in ${where}`
          : `Changes ${where}${also({ ...(occurrences !== undefined && { occurrences }) })}`;
      return [`${what}${also(rest)}:`, ...sides].join("\n");
    }
    case "apply_patch": {
      const data = patching.safeParse(input).data;
      if (data === undefined) break;
      const { patch, ...rest } = data;
      return `Applies a patch in ${place}${also(rest)}:\n${patch}`;
    }
    case "fetch_url": {
      const url = URL.parse(fetching.safeParse(input).data?.url ?? "");
      if (url === null) break;
      // In the letters that are really asked for: a name that only looks like another is seen.
      return `Fetches ${url.href}\nfrom the host ${url.hostname}`;
    }
    default:
  }
  return plainWords(name, input);
}

function terminalWords(input: Json, place: string): string | undefined {
  const data = terminal.safeParse(input).data;
  if (data === undefined) return undefined;
  const { command, folder, background, ...rest } = data;
  const how = background === true ? " in the background," : "";
  const within = folder === undefined ? place : `${place}, in ${JSON.stringify(folder)}`;
  const where = `${how} in ${within}${also(rest)}`;
  if (typeof command === "string") return `Gives this line to a shell${where}:\n${command}`;
  return [`Runs${where}:`, ...command.map((word) => `  ${JSON.stringify(word)}`)].join("\n");
}

/** What else was asked for stands before what may be long, so that it is never what is cut. */
function also(rest: Readonly<Record<string, unknown>>): string {
  return Object.entries(rest)
    .map(([name, value]) => `, ${name} ${JSON.stringify(value)}`)
    .join("");
}

function marked(sign: string, text: string): readonly string[] {
  return text.split("\n").map((line) => `${sign}${line}`);
}

function plainWords(name: string, input: Json): string {
  return `Calls ${name} with ${JSON.stringify(input, null, 2)}`;
}
