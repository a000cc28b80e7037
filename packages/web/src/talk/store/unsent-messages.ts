import {
  attachment,
  type Attachment,
  ids,
  inputMode,
  type InputMode,
  type QuotedRanges,
  quotedRanges,
  type Seq,
  sessionId,
  type SessionId,
} from "@holdfast/protocol";
import { type Client } from "@holdfast/client";
import { z } from "zod";
import { problemText } from "../../app-context.ts";
import { writeStored, storedKeys, readStored } from "../../ui/local-storage.ts";

export interface MessageContent {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly mode: InputMode;
  /** What of the text was pasted. */
  readonly quoted?: QuotedRanges | undefined;
}

/** A message that the host has not accepted yet, so it is not part of the conversation. */
export interface UnsentMessage extends MessageContent {
  readonly clientId: string;
  readonly sessionId: SessionId;
  readonly state: "sending" | "failed" | "accepted";
  /** The event that accepted it: from there on the conversation itself shows the message. */
  readonly seq: Seq | null;
  readonly trouble: "network" | "refused" | null;
  readonly reason: string | null;
}

export interface UnsentStore {
  readonly read: () => readonly UnsentMessage[];
  readonly subscribe: (listener: () => void) => () => void;
  readonly send: (session: SessionId, content: MessageContent) => void;
  readonly retry: (clientId: string) => void;
  /** Forgets it in this browser. If the host has it, the conversation shows it. */
  readonly discard: (clientId: string) => void;
}

const storedMessage = z.object({
  sessionId,
  text: z.string(),
  attachments: z.array(attachment),
  mode: inputMode,
  quoted: quotedRanges.optional(),
});
const storagePrefix = "unsent:";

/**
 * P1 on the client: a sent message is kept here until the host acknowledges it, even across a reload, and every retry uses
 * the same id.
 */
export function createUnsentStore(client: Client): UnsentStore {
  let all: readonly UnsentMessage[] = storedKeys(storagePrefix).flatMap((clientId) => {
    const content = readStored(storagePrefix + clientId, storedMessage);
    return content === null ? [] : [{ clientId, ...content, ...sendingState }];
  });
  const listeners = new Set<() => void>();

  function setAll(next: readonly UnsentMessage[]): void {
    all = next;
    listeners.forEach((listener) => listener());
  }
  function update(clientId: string, patch: Partial<UnsentMessage>): void {
    setAll(
      all.map((message) => (message.clientId === clientId ? { ...message, ...patch } : message)),
    );
  }

  async function deliver(message: UnsentMessage): Promise<void> {
    const { clientId, text, mode, attachments, quoted } = message;
    const body = {
      clientId,
      text,
      mode,
      attachments: [...attachments],
      ...(quoted !== undefined && { quoted }),
    };
    const result = await client.sendMessage({ params: { id: message.sessionId }, body });
    if (result.ok) {
      writeStored(storagePrefix + clientId, null);
      return update(clientId, { state: "accepted", seq: result.value.seq });
    }
    const isRefused = result.error.kind === "problem" && result.error.problem.status < 500;
    const reason = result.error.kind === "problem" ? problemText(result.error) : null;
    update(clientId, { state: "failed", trouble: isRefused ? "refused" : "network", reason });
  }

  /** One at a time, so that messages are accepted in the order in which they were sent. */
  let previous = Promise.resolve();
  function enqueue(message: UnsentMessage): void {
    previous = previous.then(() => deliver(message));
  }
  all.forEach(enqueue);

  return {
    read: () => all,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    send(session, content) {
      const message: UnsentMessage = {
        clientId: ids.make("message"),
        sessionId: session,
        ...content,
        ...sendingState,
      };
      writeStored(storagePrefix + message.clientId, { ...content, sessionId: session });
      // The conversation shows accepted messages by now.
      setAll([...all.filter(({ state }) => state !== "accepted"), message]);
      enqueue(message);
    },
    retry(clientId) {
      const message = all.find((unsent) => unsent.clientId === clientId);
      if (message === undefined || message.state !== "failed") return;
      update(clientId, sendingState);
      enqueue(message);
    },
    discard(clientId) {
      writeStored(storagePrefix + clientId, null);
      setAll(all.filter((message) => message.clientId !== clientId));
    },
  };
}

const sendingState = { state: "sending", seq: null, trouble: null, reason: null } as const;
