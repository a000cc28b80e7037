import type { Attachment } from "@holdfast/protocol";
import { strings } from "../strings/strings.ts";

/** How a file of a workspace is previewed, by its name. */
export type PreviewKind = "picture" | "pdf" | "page" | "text";

const kinds: Readonly<Record<string, PreviewKind>> = {
  png: "picture",
  jpg: "picture",
  jpeg: "picture",
  gif: "picture",
  webp: "picture",
  svg: "picture",
  pdf: "pdf",
  html: "page",
  htm: "page",
};

export function previewKindOf(name: string): PreviewKind {
  return kinds[extensionOf(name)] ?? "text";
}

const mediaTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  csv: "text/csv",
  md: "text/markdown",
  json: "application/json",
};

/** Of a file of the workspace, where only its name says what it is. Empty if that is unknown. */
export function mediaTypeOf(name: string): string {
  return mediaTypes[extensionOf(name)] ?? (extensionOf(name) in languages ? "text/plain" : "");
}

const languages: Readonly<Record<string, string>> = {
  h: "c",
  cc: "c",
  cpp: "c",
  hpp: "c",
  cjs: "javascript",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  cts: "typescript",
  mts: "typescript",
  ts: "typescript",
  tsx: "typescript",
  htm: "html",
  md: "markdown",
  patch: "diff",
  py: "python",
  rs: "rust",
  yml: "yaml",
};

/** The name that code blocks of a conversation use; unknown ones are not coloured. */
export function languageOf(name: string): string {
  const extension = extensionOf(name);
  return languages[extension] ?? extension;
}

function extensionOf(name: string): string {
  return /[^.]\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase() ?? "";
}

export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

export const attachmentName = ({ name }: Attachment): string => name ?? strings.talk.label;
