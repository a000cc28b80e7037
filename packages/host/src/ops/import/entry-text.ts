import type { ImportedEntry } from "./source.ts";

/** What an entry says, for its id. Times are left out: programs restamp what they copy. */
export function textForId(entry: ImportedEntry): string {
  const said = saidIn(entry);
  return "after" in entry && entry.after !== undefined ? `${entry.after} ${said}` : said;
}

function saidIn(entry: ImportedEntry): string {
  switch (entry.type) {
    case "message": {
      const { role, parts, proof } = entry;
      const calls = parts.flatMap((part) =>
        part.type === "tool_call" || part.type === "tool_result" ? [part.call] : [],
      );
      const files = parts.flatMap((part) => (part.type === "image" ? [part.bytes.length] : []));
      return JSON.stringify([role, proof.role, proof.sha256, calls, files]);
    }
    case "notice":
      return JSON.stringify([entry.noticeKind, entry.proof.sha256]);
    case "undo":
      return JSON.stringify([entry.type, entry.from, entry.reason]);
    case "summary":
      return JSON.stringify([entry.type, entry.from, entry.to]);
    case "usage":
      return "";
  }
}

/** The text of a stored message, as a list shows it. */
export function textOfData(parts: unknown): string {
  if (!Array.isArray(parts)) return "";
  const texts = parts.flatMap((part: unknown) =>
    typeof part === "object" && part !== null && "text" in part && typeof part.text === "string"
      ? [part.text]
      : [],
  );
  return texts.join("\n").slice(0, 500);
}
