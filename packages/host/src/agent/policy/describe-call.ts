import type { Json } from "@holdfast/protocol";
import { z } from "zod";

import { showLookAlikes } from "../../util/text/look-alikes.ts";
import { quote, showLines } from "../../util/text/show-controls.ts";

const maxDescriptionLength = 200_000;

export interface DescribedCall {
  readonly name: string;
  readonly input: Json;
  readonly place?: string;
  readonly workspace?: string;
  readonly session?: string;
  readonly identity?: string;
}

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
const searching = z.looseObject({ query: z.string() });
const fetching = z.looseObject({ url: z.string() });

/**
 * What exactly a call would do, for the person who decides. The call can be read back from the text: invisible
 * characters are escaped, each argument has its own line, and repeated lines are counted. `hidden` counts what is left
 * out of a text that nobody can be expected to read; such a call cannot be allowed.
 */
export function describeCall(call: DescribedCall): {
  readonly shown: string;
  readonly hidden?: number;
} {
  const text = describeInput(call);
  if (text.length <= maxDescriptionLength) return { shown: text };
  const hidden = text.length - maxDescriptionLength;
  const excerpt = text.slice(0, maxDescriptionLength).toWellFormed();
  const remark = `[${hidden.toLocaleString("en")} more characters: too much to show, so it cannot be allowed]`;
  return { shown: `${excerpt}\n${remark}`, hidden };
}

function describeInput(call: DescribedCall): string {
  const { name, input } = call;
  const place = describePlace(call);
  switch (name) {
    case "terminal":
      return describeTerminal(input, place) ?? describeOther(name, input);
    case "write_file": {
      const data = writing.safeParse(input).data;
      if (data === undefined) break;
      const { path, content, ...rest } = data;
      const bytes = Buffer.byteLength(content);
      const what = `Writes ${bytes} bytes to ${quote(path)} in ${place}${describeOtherArguments(rest)}:`;
      return [what, ...showFile(content)].join("\n");
    }
    case "edit_file": {
      const data = editing.safeParse(input).data;
      if (data === undefined) break;
      const { path, old, new: fresh, occurrences, ...rest } = data;
      const sides = [...showLines(old.split("\n"), "-"), ...showLines(fresh.split("\n"), "+")];
      const where = `${quote(path)} in ${place}`;
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
      const what = `Applies a patch in ${place}${describeOtherArguments(rest)}:`;
      return [what, ...showFile(patch)].join("\n");
    }
    case "fetch_url": {
      const asked = fetching.safeParse(input).data;
      const url = URL.parse(asked?.url ?? "");
      if (asked === undefined || url === null) break;
      const { url: written, ...rest } = asked;
      // In punycode, so that a look-alike name is visible.
      const as = url.href === written ? "" : `, written as ${quote(written)}`;
      return `Fetches ${quote(url.href)}${as}${describeOtherArguments(rest)}\nfrom the host ${url.hostname}`;
    }
    case "web_search": {
      const asked = searching.safeParse(input).data;
      if (asked === undefined) break;
      const { query, ...rest } = asked;
      const where = call.identity === undefined ? "" : `\nthrough the host ${call.identity}`;
      return `Searches the web for ${quote(query)}${describeOtherArguments(rest)}${where}`;
    }
    default:
  }
  return describeOther(name, input);
}

/** By its name on every host; the folder it has on this one is shown beside it. */
function describePlace({ place = "", workspace, session = "" }: DescribedCall): string {
  if (workspace === undefined) return quote(place);
  if (workspace === `session:${session}`) return "this conversation's workspace";
  return `the workspace ${quote(workspace.replace(/^root:/, ""))}`;
}

function describeTerminal(input: Json, place: string): string | undefined {
  const data = terminal.safeParse(input).data;
  if (data === undefined) return undefined;
  const { command, folder, background, ...rest } = data;
  const how = background === true ? " in the background," : "";
  const within = folder === undefined ? place : `${place}, in ${quote(folder)}`;
  const where = `${how} in ${within}${describeOtherArguments(rest)}`;
  const [heading, rows] =
    typeof command === "string"
      ? [`Shell command${where}:`, showLines(command.split("\n"), "  ")]
      : [`Runs${where}:`, command.map((word) => `  ${quote(word)}`)];
  return [heading, ...rows.map(showLookAlikes)].join("\n");
}

/** Before the argument that may be long, so that these are never cut off. */
function describeOtherArguments(rest: Readonly<Record<string, unknown>>): string {
  return Object.entries(rest)
    .map(([name, value]) => `, ${quote(name)} ${showJson(value as Json, "").join(" ")}`)
    .join("");
}

/** A file's lines. Most files end with a line break, so only its absence is remarked upon. */
function showFile(content: string): readonly string[] {
  if (content === "") return ["[nothing]"];
  const lines = content.split("\n");
  if (lines.at(-1) !== "") return [...showLines(lines, "  "), "[no line break at the end]"];
  return showLines(lines.slice(0, -1), "  ");
}

function describeOther(name: string, input: Json): string {
  return [`Calls ${quote(name)} with:`, ...showJson(input, "").map((line) => `  ${line}`)].join(
    "\n",
  );
}

/** As `JSON.stringify(value, null, 2)`, with texts that can be read back from what is shown. */
function showJson(value: Json, indent: string): readonly string[] {
  if (typeof value === "string") return [`${indent}${quote(value)}`];
  if (typeof value !== "object" || value === null) return [`${indent}${JSON.stringify(value)}`];
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const items = Array.isArray(value)
    ? value.map((item) => showJson(item, `${indent}  `))
    : Object.entries(value).map(([key, item]) => {
        const [first = "", ...more] = showJson(item, `${indent}  `);
        return [`${indent}  ${quote(key)}: ${first.trimStart()}`, ...more];
      });
  if (items.length === 0) return [`${indent}${open}${close}`];
  return [`${indent}${open}`, ...items.flat(), `${indent}${close}`];
}
