import type { DocumentEntry, DocumentPart } from "./document.ts";
import type { ExportedEntry } from "./export-versions.ts";
import type { DocumentTitle, FileHref } from "./export.ts";

/** For people and plain tools. Messages are Markdown already; tool output is fenced. */
export async function* writeMarkdown(
  { title, createdAt, exportedAt }: DocumentTitle,
  entries: AsyncIterable<ExportedEntry>,
  fileHref?: FileHref,
): AsyncGenerator<string> {
  yield `# ${oneLine(title)}\n\n`;
  yield `Started ${formatTime(createdAt)}, exported ${formatTime(exportedAt)}.\n`;
  let isHiding = false;
  for await (const { entry, version, isHidden = false } of entries) {
    if (isHidden && !isHiding)
      yield "\n---\n\n# Other versions\n\nThese messages were edited or retried later.\n";
    isHiding = isHidden;
    yield `\n${writeEntry(entry, version, fileHref)}`;
  }
}

export const versionText = ({ number, count }: NonNullable<ExportedEntry["version"]>): string =>
  `version ${number} of ${count}`;

const dayAndTime = new Intl.DateTimeFormat("en", {
  dateStyle: "long",
  timeStyle: "short",
  timeZone: "UTC",
});

/** Whoever reads a document may be anywhere: `November 19, 2026 at 8:18 PM UTC`. */
export const formatTime = (at: number): string =>
  // It writes a narrow no-break space before AM and PM, which few fonts have.
  `${dayAndTime.format(at).replaceAll("\u202f", " ")} UTC`;

const roleLabels = { user: "You", assistant: "Assistant", tool: "Tool" } as const;

function writeEntry(
  entry: DocumentEntry,
  version: ExportedEntry["version"],
  fileHref: FileHref | undefined,
): string {
  if (entry.type === "notice") return `> ${entry.text.replaceAll(/\r?\n/g, "\n> ")}\n`;
  const marks = [
    version && versionText(version),
    entry.partial,
    entry.superseded && "superseded",
  ].filter(Boolean);
  const suffix = marks.length === 0 ? "" : ` (${marks.join(", ")})`;
  const head = `## ${roleLabels[entry.role]}, ${formatTime(entry.at)}${suffix}\n\n`;
  return `${head}${entry.parts.map((part) => writePart(part, fileHref)).join("\n\n")}\n`;
}

function writePart(part: DocumentPart, fileHref: FileHref | undefined): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return `> ${part.text.replaceAll(/\r?\n/g, "\n> ")}`;
    case "tool_call":
      return `Called \`${oneLine(part.name)}\`:\n\n${fenced(JSON.stringify(part.input, null, 2), "json")}`;
    case "tool_result":
      return `\`${oneLine(part.name)}\` ended ${part.outcome}:\n\n${fenced(part.output, "")}`;
    case "file":
    case "image":
      return writeAttached({ ...part, name: part.name ?? "a picture" }, fileHref);
    case "notice":
      return `> ${part.text.replaceAll(/\r?\n/g, "\n> ")}`;
  }
}

function writeAttached(file: Parameters<FileHref>[0], fileHref: FileHref | undefined): string {
  const name = oneLine(file.name);
  if (fileHref === undefined) return `Attached: ${name} (${file.mediaType})`;
  return `Attached: [${name.replaceAll(/[[\]\\]/g, "_")}](${fileHref(file)}) (${file.mediaType})`;
}

/** Longer than any fence inside. */
function fenced(text: string, language: string): string {
  const runs = [...text.matchAll(/`{3,}/g)].map(([run]) => run.length);
  const fence = "`".repeat(Math.max(3, ...runs.map((run) => run + 1)));
  return `${fence}${language}\n${text}\n${fence}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("`", "'").trim();
}
