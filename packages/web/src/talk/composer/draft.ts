import { attachment, type Attachment } from "@holdfast/protocol";
import { useCallback, useRef, useState } from "react";
import { z } from "zod";
import { writeStored, readStored } from "../../ui/local-storage.ts";

export interface Draft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

const storedDraft = z.object({ text: z.string(), attachments: z.array(attachment) });
const emptyDraft: Draft = { text: "", attachments: [] };

interface DraftField {
  readonly draft: Draft;
  readonly change: (update: (draft: Draft) => Draft) => void;
  /**
   * Empties the field while the draft is delivered. It stays stored meanwhile, and comes back above what was typed
   * since if it is not accepted (`false`).
   */
  readonly deliver: (sent: Draft, send: () => void | Promise<boolean>) => Promise<void>;
}

/** An unsent message, which survives a reload. To show another draft, mount the component again. */
export function useDraft(name: string): DraftField {
  const key = `draft:${name}`;
  const [draft, setDraft] = useState(() => readStored(key, storedDraft) ?? emptyDraft);
  // Two uploads may finish between two renders: each change builds on the latest draft, not the rendered one.
  const latest = useRef(draft);
  const onTheWay = useRef<readonly Draft[]>([]);
  const change = useCallback(
    (update: (draft: Draft) => Draft) => {
      const next = update(latest.current);
      latest.current = next;
      const kept = joinDrafts([...onTheWay.current, next]);
      writeStored(key, isEmptyDraft(kept) ? null : kept);
      setDraft(next);
    },
    [key],
  );
  const deliver = useCallback(
    async (sent: Draft, send: () => void | Promise<boolean>) => {
      onTheWay.current = [...onTheWay.current, sent];
      change(() => emptyDraft);
      const isAccepted = await send();
      onTheWay.current = onTheWay.current.filter((other) => other !== sent);
      change((typed) => (isAccepted === false ? joinDrafts([sent, typed]) : typed));
    },
    [change],
  );
  return { draft, change, deliver };
}

const isEmptyDraft = ({ text, attachments }: Draft): boolean =>
  text === "" && attachments.length === 0;

function joinDrafts(drafts: readonly Draft[]): Draft {
  const texts = drafts.map(({ text }) => text).filter((text) => text !== "");
  return { text: texts.join("\n\n"), attachments: drafts.flatMap((each) => each.attachments) };
}
