import {
  attachment,
  type Attachment,
  ids,
  inputMode,
  type InputMode,
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
}

/** A message on its way. It is no part of the conversation until the host has accepted it. */
export interface UnsentMessage extends MessageContent {
  readonly clientId: string;
  readonly sessionId: SessionId;
  readonly state: "sending" | "failed" | "accepted";
  /** Where its acceptance stands: from there on the conversation itself shows it. */
  readonly seq: Seq | null;
  readonly trouble: "network" | "refused" | null;
  readonly reason: string | null;
}

export interface UnsentStore {
  readonly read: () => readonly UnsentMessage[];
  readonly subscribe: (listener: () => void) => () => void;
  readonly send: (session: SessionId, content: MessageContent) => void;
  readonly retry: (clientId: string) => void;
  /** Forgets it here. Whether the host has it, the conversation says. */
  readonly discard: (clientId: string) => void;
}

const storedMessage = z.object({
  sessionId,
  text: z.string(),
  attachments: z.array(attachment),
  mode: inputMode,
});
const storagePrefix = "unsent:";

/**
 * P1 from this side: what was sent is kept here until the host has acknowledged it, through a reload too, and goes out under
 * one id however often it is tried.
 */
export function createUnsentStore(client: Client): UnsentStore {
  let all: readonly UnsentMessage[] = storedKeys(storagePrefix).flatMap((clientId) => {
    const content = readStored(storagePrefix + clientId, storedMessage);
    return content === null ? [] : [{ clientId, ...content, ...sendingState }];
  });
  const listeners = new Set<() => void>();

  function show(next: readonly UnsentMessage[]): void {
    all = next;
    listeners.forEach((listener) => listener());
  }
  function change(clientId: string, part: Partial<UnsentMessage>): void {
    show(all.map((each) => (each.clientId === clientId ? { ...each, ...part } : each)));
  }

  async function deliver(message: UnsentMessage): Promise<void> {
    const { clientId, text, mode, attachments } = message;
    const body = { clientId, text, mode, attachments: [...attachments] };
    const result = await client.sendMessage({ params: { id: message.sessionId }, body });
    if (result.ok) {
      writeStored(storagePrefix + clientId, null);
      return change(clientId, { state: "accepted", seq: result.value.seq });
    }
    const isRefused = result.error.kind === "problem" && result.error.problem.status < 500;
    const reason = result.error.kind === "problem" ? problemText(result.error) : null;
    change(clientId, { state: "failed", trouble: isRefused ? "refused" : "network", reason });
  }

  /** One after the other, so that what was said first is accepted first. */
  let last = Promise.resolve();
  function enqueue(message: UnsentMessage): void {
    last = last.then(() => deliver(message));
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
      // What the conversation shows by now need not be held here any longer.
      show([...all.filter(({ state }) => state !== "accepted"), message]);
      enqueue(message);
    },
    retry(clientId) {
      const message = all.find((each) => each.clientId === clientId);
      if (message === undefined || message.state !== "failed") return;
      change(clientId, sendingState);
      enqueue(message);
    },
    discard(clientId) {
      writeStored(storagePrefix + clientId, null);
      show(all.filter((each) => each.clientId !== clientId));
    },
  };
}

const sendingState = { state: "sending", seq: null, trouble: null, reason: null } as const;
