import type { Store } from "@holdfast/engine";
import { decodeEvent, ownerId, type SessionId, textOf } from "@holdfast/protocol";
import {
  startProcess,
  type StartedProcess,
  type StartOptions,
} from "@holdfast/testing/process/start-process";
import { fileURLToPath } from "node:url";

const examples = new URL("../../examples/", import.meta.url);

/** Starts a file of the examples in a folder of the test, as a person would. */
export function startExample(
  file: string,
  args: readonly string[],
  options: StartOptions & { readonly cwd: string },
): StartedProcess {
  return startProcess([fileURLToPath(new URL(file, examples)), ...args], options);
}

/** A conversation as its reader sees it: each message with the text of its answers. */
export interface Exchange {
  readonly user: string;
  readonly assistant: string;
}

/** The only session of the store. */
async function onlySession({ reads }: Store): Promise<SessionId> {
  const { sessions } = await reads.sessions(ownerId.parse("owner"), { limit: 2 });
  const [session, ...others] = sessions;
  if (session === undefined || others.length > 0) throw new Error("Expected one session.");
  return session.id;
}

export async function readConversation(store: Store): Promise<Exchange[]> {
  const session = await onlySession(store);
  const page = await store.reads.entries(ownerId.parse("owner"), session, { limit: 1_000 });
  const exchanges: { user: string; assistant: string }[] = [];
  for (const entry of page?.entries ?? []) {
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known") continue;
    const { type, data } = decoded.event;
    if (type === "message.user") exchanges.push({ user: textOf(data.parts), assistant: "" });
    const last = exchanges.at(-1);
    if (type === "message.assistant" && last) last.assistant += textOf(data.parts);
  }
  return exchanges;
}
