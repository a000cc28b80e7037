import { createHash } from "node:crypto";

import type { Store } from "@holdfast/engine";
import { type OwnerId, sessionId } from "@holdfast/protocol";
import { z } from "zod";

import { problem, type Reply } from "./endpoint.ts";

/** A request with an idempotency key: sent again, it gets the first answer. */
export interface KeyedRequest {
  readonly owner: OwnerId;
  readonly key: string;
  /** The whole request as text, to detect another request under the same key. */
  readonly requestText: string;
}

export interface IdempotentCall<T> {
  readonly request: KeyedRequest;
  readonly act: () => Promise<Reply<T>>;
  /** `undefined` if this version cannot read the stored answer. The command then runs again, which repeats nothing. */
  readonly decode: (stored: unknown) => Reply<T> | undefined;
}

export type RunIdempotent = <T>(options: IdempotentCall<T>) => Promise<Reply<T>>;

/**
 * Stores the answers of requests. A repeated request waits for one in progress here, or gets the stored answer. Only
 * successes are stored, so a refused request may be retried under its key. If two hosts get the same request at once,
 * both act, and the ids derived from the request let the store deduplicate.
 */
export function createIdempotency({ requests }: Pick<Store, "requests">): RunIdempotent {
  const inProgress = new Map<
    string,
    { readonly requestText: string; readonly reply: Promise<unknown> }
  >();

  async function runFirst<T>({ request, act, decode }: IdempotentCall<T>): Promise<Reply<T>> {
    const { owner, key, requestText: asked } = request;
    const hash = createHash("sha256").update(asked).digest("hex");
    const stored = await requests.find(owner, key);
    if (stored !== null && stored.hash !== hash) return conflict;
    const storedReply = stored === null ? undefined : decode(JSON.parse(stored.answer));
    if (storedReply !== undefined) return storedReply;
    const reply = await act();
    if (reply.kind === "problem") return reply;
    const session = sessionOfReply(reply.value);
    const text = JSON.stringify(reply.value ?? null);
    const result = await requests.keep({ owner, key, hash, session, answer: text });
    // Failing to store the answer is no reason to deny what was done.
    return result.status === "kept" && result.row.hash !== hash ? conflict : reply;
  }

  return async function runIdempotent<T>(options: IdempotentCall<T>): Promise<Reply<T>> {
    const { owner, key, requestText: asked } = options.request;
    const requestKey = `${owner} ${key}`;
    const running = inProgress.get(requestKey);
    if (running !== undefined) {
      if (running.requestText !== asked) return conflict;
      // The same request to the same route has the same reply type.
      return running.reply as Promise<Reply<T>>;
    }
    const reply = runFirst(options);
    inProgress.set(requestKey, { requestText: asked, reply });
    try {
      return await reply;
    } finally {
      inProgress.delete(requestKey);
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
