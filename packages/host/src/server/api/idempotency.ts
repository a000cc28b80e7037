import { createHash } from "node:crypto";

import type { Store } from "@holdfast/engine";
import { type OwnerId, sessionId } from "@holdfast/protocol";
import { z } from "zod";

import { answer, problem, type Reply } from "./reply.ts";

/** A request that names itself: sent again, it is answered as the first time. */
export interface KeyedRequest {
  readonly owner: OwnerId;
  readonly key: string;
  /** All that it asks for, as text. */
  readonly asked: string;
}

export interface IdempotentCall<T> {
  readonly request: KeyedRequest;
  readonly act: () => Promise<Reply<T>>;
  /** `undefined`: what was kept is not an answer that this version gives. Then it is done again, which repeats nothing. */
  readonly decode: (kept: unknown) => Reply<T> | undefined;
}

export type RunIdempotent = <T>(options: IdempotentCall<T>) => Promise<Reply<T>>;

/**
 * Keeps what requests were answered. While the first is under way here, the same again waits for it; afterwards it gets
 * what is kept. Only what was done is kept: a request that was refused may be sent again under its key. Two hosts that get it
 * at the same moment both act, and the ids that follow from the request let the store see that it is one.
 */
export function createIdempotency({ requests }: Pick<Store, "requests">): RunIdempotent {
  const underWay = new Map<string, { readonly asked: string; readonly reply: Promise<unknown> }>();

  async function answerFirst<T>({ request, act, decode }: IdempotentCall<T>): Promise<Reply<T>> {
    const { owner, key, asked } = request;
    const hash = createHash("sha256").update(asked).digest("hex");
    const kept = await requests.find(owner, key);
    if (kept !== null && kept.hash !== hash) return conflict;
    const again = kept === null ? undefined : decode(JSON.parse(kept.answer));
    if (again !== undefined) return again;
    const reply = await act();
    if (reply.kind === "problem") return reply;
    const session = sessionOfReply(reply.value);
    const text = JSON.stringify(reply.value ?? null);
    const result = await requests.keep({ owner, key, hash, session, answer: text });
    // An answer that could not be kept is no reason to deny what was done.
    return result.status === "kept" && result.row.hash !== hash ? conflict : reply;
  }

  return async function answerOnce<T>(options: IdempotentCall<T>): Promise<Reply<T>> {
    const { owner, key, asked } = options.request;
    const slot = `${owner} ${key}`;
    const first = underWay.get(slot);
    if (first !== undefined) {
      if (first.asked !== asked) return conflict;
      // The same request to the same route: its reply has the same type.
      return first.reply as Promise<Reply<T>>;
    }
    const reply = answerFirst(options);
    underWay.set(slot, { asked, reply });
    try {
      return await reply;
    } finally {
      underWay.delete(slot);
    }
  };
}

const conflict = problem("idempotency_conflict");

const replySession = z.union([
  z
    .looseObject({ session: z.looseObject({ id: sessionId }) })
    .transform(({ session }) => session.id),
  z.looseObject({ run: z.looseObject({ sessionId }) }).transform(({ run }) => run.sessionId),
]);

function sessionOfReply(value: unknown) {
  const parsed = replySession.safeParse(value);
  return parsed.success ? parsed.data : null;
}

/** Reads what was kept as the route's own answer. */
export function decodeStoredReply(
  schema: z.ZodType | undefined,
): (kept: unknown) => Reply<unknown> | undefined {
  return (kept) => {
    if (schema === undefined) return answer(undefined);
    const parsed = schema.safeParse(kept);
    return parsed.success ? answer(parsed.data) : undefined;
  };
}
