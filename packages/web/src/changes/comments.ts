import { type SessionId } from "@holdfast/protocol";
import { useCallback, useState } from "react";
import { z } from "zod";
import { changesStrings } from "../strings/changes.ts";
import { readStored, writeStored } from "../ui/local-storage.ts";

const comment = z.object({
  path: z.string(),
  /** `null`: on the whole file. */
  at: z
    .object({
      kind: z.enum(["added", "removed", "same"]),
      line: z.number(),
      /** The line itself. */
      text: z.string(),
    })
    .nullable(),
  text: z.string(),
});
export type DiffComment = z.infer<typeof comment>;

const stored = z.array(comment);

/** Comments that are not sent yet. They survive a reload. */
export function useComments(session: SessionId) {
  const key = `comments:${session}`;
  const [comments, setComments] = useState<readonly DiffComment[]>(
    () => readStored(key, stored) ?? [],
  );
  const change = useCallback(
    (next: readonly DiffComment[]) => {
      writeStored(key, next.length === 0 ? null : next);
      setComments(next);
    },
    [key],
  );
  return [comments, change] as const;
}

const signs = { added: "+", removed: "-", same: " " } as const;
const maxQuotedLength = 500;

/** The message that says them: each with its file, its line and what stands there. */
export function textOfComments(comments: readonly DiffComment[]): string {
  const t = changesStrings.comment;
  const parts = comments.map(({ path, at, text }) => {
    const name = onOneLine(path);
    if (at === null) return `${name}:\n\n${text}`;
    const place = (at.kind === "removed" ? t.before : t.place)(name, at.line);
    const quoted = onOneLine(at.text.slice(0, maxQuotedLength));
    return `${place}\n> ${signs[at.kind]} ${quoted}\n\n${text}`;
  });
  return [t.lead, ...parts].join("\n\n");
}

/** A name or a line of a file may hold anything. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, " ");
}
