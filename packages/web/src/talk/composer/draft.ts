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

/** An unsent message, which survives a reload. To show another draft, mount the component again. */
export function useDraft(name: string): [Draft, (update: (draft: Draft) => Draft) => void] {
  const key = `draft:${name}`;
  const [draft, setDraft] = useState(() => readStored(key, storedDraft) ?? emptyDraft);
  // Two uploads may finish between two renders: each change builds on the latest draft, not the rendered one.
  const latest = useRef(draft);
  const changeDraft = useCallback(
    (update: (draft: Draft) => Draft) => {
      const next = update(latest.current);
      latest.current = next;
      writeStored(key, next.text === "" && next.attachments.length === 0 ? null : next);
      setDraft(next);
    },
    [key],
  );
  return [draft, changeDraft];
}
