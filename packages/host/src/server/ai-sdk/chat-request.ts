import { z } from "zod";

const maxIdLength = 200;

/** Parts are the client's: only what is used is read, and unknown ones are ignored. */
const uiPart = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  url: z.string().optional(),
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  state: z.string().optional(),
  approval: z
    .looseObject({
      id: z.string(),
      approved: z.boolean().optional(),
      reason: z.string().optional(),
    })
    .optional(),
});

const uiMessage = z.looseObject({
  id: z.string().min(1).max(maxIdLength),
  role: z.enum(["system", "user", "assistant"]),
  parts: z.array(uiPart).max(10_000),
});
export type UiMessage = z.infer<typeof uiMessage>;

/** What `useChat` posts: the whole history, or only the newest message. Other fields are the application's. */
export const chatRequest = z
  .looseObject({
    id: z.string().min(1).max(maxIdLength),
    // Only the newest is read: checking all of a long history would cost memory for each part that is wrong.
    messages: z.array(z.unknown()).max(100_000).optional(),
    message: z.unknown().optional(),
    trigger: z.enum(["submit-message", "regenerate-message"]).default("submit-message"),
  })
  .transform(({ id, messages, message, trigger }, refusal) => {
    const given = message ?? messages?.at(-1);
    const newest = uiMessage.safeParse(given);
    if (newest.success) return { id, trigger, newest: newest.data };
    const [issue] = newest.error.issues;
    const path = message === undefined ? ["messages", ...lastIndex(messages)] : ["message"];
    refusal.issues.push({
      code: "custom",
      path: given === undefined ? ["messages"] : [...path, ...(issue?.path ?? [])],
      input: id,
      message: given === undefined ? "expected a message" : (issue?.message ?? "invalid"),
    });
    return z.NEVER;
  });
export type ChatRequest = z.infer<typeof chatRequest>;

function lastIndex(messages: readonly unknown[] = []): readonly number[] {
  return messages.length === 0 ? [] : [messages.length - 1];
}

export function textOfMessage({ parts }: UiMessage): string {
  return parts.map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
}

export interface ApprovalResponse {
  readonly id: string;
  readonly approved: boolean;
  readonly reason: string | undefined;
}

/** The approvals that the person has answered in this message. The client repeats them until the tool has run. */
export function approvalResponses({ parts }: UiMessage): readonly ApprovalResponse[] {
  return parts.flatMap(({ state, approval }) => {
    if (state !== "approval-responded" || approval?.approved === undefined) return [];
    const { id, approved, reason } = approval;
    return [{ id, approved, reason }];
  });
}

export interface ClientFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mediaType: string;
  readonly name: string | undefined;
}

/** The files of a message; `null` if one is not sent along as a data URL. */
export function filesOfMessage({ parts }: UiMessage): readonly ClientFile[] | null {
  const files: ClientFile[] = [];
  for (const { type, url = "", filename: name } of parts) {
    if (type !== "file") continue;
    const data = /^data:([\w.+-]+\/[\w.+-]+)(?:;[^,]*)?;base64,([A-Za-z0-9+/=]*)$/.exec(url);
    if (data === null) return null;
    const [, mediaType = "", text = ""] = data;
    files.push({ bytes: new Uint8Array(Buffer.from(text, "base64")), mediaType, name });
  }
  return files;
}
