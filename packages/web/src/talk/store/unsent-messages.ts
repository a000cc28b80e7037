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
import { sentenceOf } from "../../app-context.ts";
import { keep, keptUnder, readKept } from "../../ui/local-storage.ts";

export interface Content {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly mode: InputMode;
}

/** A message on its way. It is no part of the conversation until the host has accepted it. */
export interface Unsent extends Content {
  readonly clientId: string;
  readonly sessionId: SessionId;
  readonly state: "sending" | "failed" | "accepted";
  /** Where its acceptance stands: from there on the conversation itself shows it. */
  readonly seq: Seq | null;
  readonly trouble: "network" | "refused" | null;
  readonly reason: string | null;
}

export interface UnsentStore {
  readonly read: () => readonly Unsent[];
  readonly subscribe: (listener: () => void) => () => void;
  readonly send: (session: SessionId, content: Content) => void;
  readonly again: (clientId: string) => void;
  /** Forgets it here. Whether the host has it, the conversation says. */
  readonly discard: (clientId: string) => void;
}

const kept = z.object({
  sessionId,
  text: z.string(),
  attachments: z.array(attachment),
  mode: inputMode,
});
const kind = "unsent:";

/**
 * P1 from this side: what was sent is kept here until the host has acknowledged it, through a reload too, and goes out under
 * one id however often it is tried.
 */
export function createUnsentStore(client: Client): UnsentStore {
  let all: readonly Unsent[] = keptUnder(kind).flatMap((clientId) => {
    const content = readKept(kind + clientId, kept);
    return content === null ? [] : [{ clientId, ...content, ...sending }];
  });
  const listeners = new Set<() => void>();

  function show(next: readonly Unsent[]): void {
    all = next;
    listeners.forEach((listener) => listener());
  }
  function change(clientId: string, part: Partial<Unsent>): void {
    show(all.map((each) => (each.clientId === clientId ? { ...each, ...part } : each)));
  }

  async function deliver(message: Unsent): Promise<void> {
    const { clientId, text, mode, attachments } = message;
    const body = { clientId, text, mode, attachments: [...attachments] };
    const result = await client.sendMessage({ params: { id: message.sessionId }, body });
    if (result.ok) {
      keep(kind + clientId, null);
      return change(clientId, { state: "accepted", seq: result.value.seq });
    }
    const isRefused = result.error.kind === "problem" && result.error.problem.status < 500;
    const reason = result.error.kind === "problem" ? sentenceOf(result.error) : null;
    change(clientId, { state: "failed", trouble: isRefused ? "refused" : "network", reason });
  }

  /** One after the other, so that what was said first is accepted first. */
  let last = Promise.resolve();
  function enqueue(message: Unsent): void {
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
      const message: Unsent = {
        clientId: ids.make("message"),
        sessionId: session,
        ...content,
        ...sending,
      };
      keep(kind + message.clientId, { ...content, sessionId: session });
      // What the conversation shows by now need not be held here any longer.
      show([...all.filter(({ state }) => state !== "accepted"), message]);
      enqueue(message);
    },
    again(clientId) {
      const message = all.find((each) => each.clientId === clientId);
      if (message === undefined || message.state !== "failed") return;
      change(clientId, sending);
      enqueue(message);
    },
    discard(clientId) {
      keep(kind + clientId, null);
      show(all.filter((each) => each.clientId !== clientId));
    },
  };
}

const sending = { state: "sending", seq: null, trouble: null, reason: null } as const;
