import { z } from "zod";

export type FrontMatterRead =
  | {
      readonly ok: true;
      readonly fields: Readonly<Record<string, unknown>>;
      readonly body: string;
    }
  | { readonly ok: false; readonly reason: string };

/** YAML takes time that grows with the square of its length. */
const maxFrontMatterLength = 16 * 1024;

/** The fields between two lines of `---` at the beginning of a Markdown file, and the text below. All values are text. */
export async function readFrontMatter(text: string, file: string): Promise<FrontMatterRead> {
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\u0008\u000B\u000C\u000E-\u001F]/u.test(text) || text.includes("\uFFFD"))
    return unusable(`${file} is not plain UTF-8 text. Save it as UTF-8.`);
  const lines = text.replace(/^\uFEFF/u, "").replaceAll(/\r\n?/gu, "\n");
  const found = /^---[ \t]*\n(?<head>[\s\S]*?)(?:^|\n)---[ \t]*(?:\n|$)(?<body>[\s\S]*)$/u.exec(
    lines,
  );
  if (found?.groups === undefined)
    return unusable(`${file} must begin with front matter between two lines of ---.`);
  const { head = "", body = "" } = found.groups;
  if (head.length > maxFrontMatterLength)
    return unusable(
      `The front matter of ${file} is longer than ${maxFrontMatterLength / 1024} KiB. Shorten it.`,
    );
  const fields = (await readYaml(head)) ?? (await readYaml(quoteValues(head)));
  if (fields === null)
    return unusable(`The front matter of ${file} is not valid YAML. Put its values in quotes.`);
  return { ok: true, fields, body };
}

function unusable(reason: string): FrontMatterRead {
  return { ok: false, reason };
}

const mapping = z.record(z.string(), z.unknown());

/** Never more than data: no tags, no anchors, no numbers. `null` if it is no mapping. */
async function readYaml(text: string): Promise<Record<string, unknown> | null> {
  const { parseDocument } = await import("yaml");
  try {
    const document = parseDocument(text, { schema: "failsafe", logLevel: "silent" });
    if (document.errors.length > 0) return null;
    return mapping.safeParse(document.toJS({ maxAliasCount: 0 })).data ?? null;
  } catch {
    return null;
  }
}

/** Many write `description: Use this when: …`, which YAML does not allow without quotes. */
function quoteValues(head: string): string {
  return head
    .split("\n")
    .map((line) => {
      const found = /^(?<key>[A-Za-z][\w-]*):[ \t]+(?<value>[^"'|>[{&*!#\s].*)$/u.exec(line);
      if (found?.groups === undefined) return line;
      const { key = "", value = "" } = found.groups;
      return `${key}: ${JSON.stringify(value.trimEnd())}`;
    })
    .join("\n");
}
