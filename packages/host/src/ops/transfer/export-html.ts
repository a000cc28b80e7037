import { createHash } from "node:crypto";
import type { BlobId } from "@holdfast/protocol";

import { escapeHtml } from "../../util/escape-html.ts";
import type { DocumentPart } from "./document.ts";
import type { DocumentTitle, FileHref } from "./export.ts";
import { formatTime, versionText } from "./export-markdown.ts";
import type { ExportedEntry } from "./export-versions.ts";

type ReadBlob = (
  id: BlobId,
) => Promise<{ readonly mediaType: string; readonly bytes: Uint8Array } | undefined>;

export const pageStyle = `
:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
article { margin: 1.5rem 0; }
article > header { font-size: .85rem; opacity: .7; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; margin: .25rem 0; }
details pre, pre.tool, .markdown pre { font: .85rem/1.5 ui-monospace, monospace; }
.user { padding: .5rem 1rem; border-radius: .75rem; background: color-mix(in srgb, currentColor 8%, transparent); }
.markdown { overflow-wrap: anywhere; }
.markdown :is(h3, h4, h5, h6) { margin: 1.4em 0 .4em; line-height: 1.3; }
.markdown pre { padding: .75rem 1rem; border-radius: .5rem; background: color-mix(in srgb, currentColor 7%, transparent); }
.markdown :not(pre) > code { font: .9em ui-monospace, monospace; }
.markdown table { border-collapse: collapse; }
.markdown :is(th, td) { padding: .25rem .75rem; border: 1px solid color-mix(in srgb, currentColor 30%, transparent); }
.markdown blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 3px solid currentColor; opacity: .8; }
details.versions { margin-top: 3rem; border-top: 1px solid; padding-top: 1rem; }
aside { border-left: 3px solid currentColor; padding-left: .75rem; opacity: .75; margin: 1rem 0; }
img { max-width: 100%; height: auto; }
`;
const styleHash = createHash("sha256").update(pageStyle).digest("base64");

/** Allows only this style and embedded images: no script and no external address. */
export const pagePolicy = `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; base-uri 'none'; form-action 'none'`;

/** One self-contained file. Everything that was said is escaped. */
export async function* writeHtml(
  { title, createdAt, exportedAt }: DocumentTitle,
  entries: AsyncIterable<ExportedEntry>,
  files: Pick<WriteDeps, "readBlob" | "fileHref">,
): AsyncGenerator<string> {
  yield `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n`;
  yield `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(pagePolicy)}">\n`;
  yield `<meta name="referrer" content="no-referrer">\n`;
  yield `<meta name="viewport" content="width=device-width, initial-scale=1">\n`;
  yield `<title>${escapeHtml(title)}</title>\n<style>${pageStyle}</style>\n</head>\n<body>\n`;
  yield `<h1>${escapeHtml(title)}</h1>\n`;
  yield `<p>Started ${formatTime(createdAt)}, exported ${formatTime(exportedAt)}.</p>\n`;
  // Most hosts never export anything, so the parser is loaded when it is needed.
  const { renderMarkdown } = await import("./render-markdown.ts");
  let isHiding = false;
  for await (const exported of entries) {
    if (exported.isHidden === true && !isHiding) {
      isHiding = true;
      yield `<details class="versions">\n<summary>Other versions</summary>\n`;
      yield `<p>These messages were edited or retried later.</p>\n`;
    }
    yield await writeEntry(exported, { ...files, renderMarkdown });
  }
  if (isHiding) yield `</details>\n`;
  yield `</body>\n</html>\n`;
}

const roleLabels = { user: "You", assistant: "Assistant", tool: "Tool" } as const;

interface WriteDeps {
  readonly readBlob: ReadBlob;
  readonly fileHref?: FileHref;
  readonly renderMarkdown: (text: string) => string | null;
}

async function writeEntry({ entry, version }: ExportedEntry, deps: WriteDeps): Promise<string> {
  if (entry.type === "notice") return `<aside>${paragraph(entry.text)}</aside>\n`;
  const marks = [
    version && versionText(version),
    entry.model,
    entry.partial,
    entry.superseded && "superseded",
  ].filter(Boolean);
  const about = [roleLabels[entry.role], formatTime(entry.at), ...marks].map(String).join(" · ");
  const parts = await Promise.all(entry.parts.map((part) => writePart(part, entry.role, deps)));
  return `<article class="${entry.role}">\n<header>${escapeHtml(about)}</header>\n${parts.join("\n")}\n</article>\n`;
}

/** What people write is shown as they wrote it; what a model writes is Markdown. */
function writeAnswer(text: string, { renderMarkdown }: WriteDeps): string {
  const rendered = renderMarkdown(text);
  return rendered === null ? paragraph(text) : `<div class="markdown">\n${rendered}</div>`;
}

async function writePart(
  part: DocumentPart,
  role: keyof typeof roleLabels,
  deps: WriteDeps,
): Promise<string> {
  switch (part.type) {
    case "text":
      return role === "assistant" ? writeAnswer(part.text, deps) : paragraph(part.text);
    case "reasoning":
      return `<details><summary>Reasoning</summary>${paragraph(part.text)}</details>`;
    case "tool_call":
      return folded(`Called ${part.name}`, JSON.stringify(part.input, null, 2));
    case "tool_result":
      return folded(`${part.name}: ${part.outcome}`, part.output);
    case "file":
      return attached(part, deps);
    case "image":
      return embedImage({ ...part, name: part.name ?? "a picture" }, deps);
    case "notice":
      return `<aside>${paragraph(part.text)}</aside>`;
  }
}

const imageTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
]);

type Attached = Parameters<FileHref>[0];

async function embedImage(image: Attached, deps: WriteDeps): Promise<string> {
  const blob = await deps.readBlob(image.blobId);
  const type = blob?.mediaType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (blob === undefined || !imageTypes.has(type)) return attached(image, deps);
  const data = Buffer.from(blob.bytes).toString("base64");
  return `<img alt="${escapeHtml(image.name)}" src="data:${type};base64,${data}">`;
}

function attached(file: Attached, { fileHref }: WriteDeps): string {
  const text = `${file.name} (${file.mediaType})`;
  if (fileHref === undefined) return paragraph(`Attached: ${text}`);
  return `<p>Attached: <a href="${escapeHtml(fileHref(file))}" download>${escapeHtml(text)}</a></p>`;
}

function paragraph(text: string): string {
  return `<pre>${escapeHtml(text)}</pre>`;
}

function folded(summary: string, text: string): string {
  return `<details><summary>${escapeHtml(summary)}</summary><pre class="tool">${escapeHtml(text)}</pre></details>`;
}
