import { attachment, type Attachment } from "@holdfast/protocol";
import { useCallback, useState } from "react";
import { z } from "zod";
import { keep, readKept } from "../ui/index.ts";

export interface Draft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

const schema = z.object({ text: z.string(), attachments: z.array(attachment) });
const empty: Draft = { text: "", attachments: [] };

/** What was begun and not sent. It survives a reload; whoever shows another one mounts the component anew. */
export function useDraft(name: string): [Draft, (draft: Draft) => void] {
  const key = `draft:${name}`;
  const [draft, setDraft] = useState(() => readKept(key, schema) ?? empty);
  const change = useCallback(
    (next: Draft) => {
      keep(key, next.text === "" && next.attachments.length === 0 ? null : next);
      setDraft(next);
    },
    [key],
  );
  return [draft, change];
}
