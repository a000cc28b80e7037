import { attachment, type Attachment } from "@holdfast/protocol";
import { useCallback, useRef, useState } from "react";
import { z } from "zod";
import { writeStored, readStored } from "../../ui/local-storage.ts";

export interface Draft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

const storedDraft = z.object({ text: z.string(), attachments: z.array(attachment) });
export const emptyDraft: Draft = { text: "", attachments: [] };

/** What was begun and not sent. It survives a reload; whoever shows another one mounts the component anew. */
export function useDraft(name: string): [Draft, (change: (draft: Draft) => Draft) => void] {
  const key = `draft:${name}`;
  const [draft, setDraft] = useState(() => readStored(key, storedDraft) ?? emptyDraft);
  // Two files may arrive between two drawings: each is added to what the other has left.
  const latest = useRef(draft);
  const change = useCallback(
    (by: (draft: Draft) => Draft) => {
      const next = by(latest.current);
      latest.current = next;
      writeStored(key, next.text === "" && next.attachments.length === 0 ? null : next);
      setDraft(next);
    },
    [key],
  );
  return [draft, change];
}
