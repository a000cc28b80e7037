import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  type OwnerId,
  sessionId,
  type SessionId,
  taintSources,
  type TaintSource,
} from "@holdfast/protocol";
import { z } from "zod";

import { readTextOrEmpty, withFileLock, writeFileAtomically } from "../../util/atomic-file.ts";
import { ownerFolder } from "./owner-folder.ts";

const waitingFact = z.looseObject({
  id: z.string(),
  text: z.string(),
  session: sessionId,
  at: z.number(),
  /** What the model had read. */
  after: taintSources,
  /** The provider that keeps it after a yes. */
  provider: z.enum(["facts", "notes"]),
});
export type WaitingFact = z.infer<typeof waitingFact>;

const waitingFile = z.looseObject({
  facts: z.array(waitingFact),
  /** Decided ones: a segment that is committed again must not bring them back. */
  decided: z.array(z.string()),
});
type WaitingFile = z.infer<typeof waitingFile>;

const maxWaiting = 500;
const maxDecided = 2_000;

export interface NewWaitingFact {
  readonly text: string;
  readonly session: SessionId;
  readonly at: number;
  readonly after: readonly TaintSource[];
}

/** Facts from turns after which a stranger's text was in the context. A person decides whether they are kept. */
export interface WaitingFacts {
  /** Oldest first. */
  list(owner: OwnerId): Promise<readonly WaitingFact[]>;
  /** `busy`: another process is writing them. */
  add(
    owner: OwnerId,
    provider: WaitingFact["provider"],
    facts: readonly NewWaitingFact[],
  ): Promise<"kept" | "busy">;
  /** Stores a fact for good with `keep`, if that is given, and takes it off the list. */
  decide(
    owner: OwnerId,
    id: string,
    keep: ((fact: WaitingFact) => Promise<"kept" | "busy">) | null,
  ): Promise<WaitingFact | "not_found" | "busy">;
}

export function openWaitingFacts(home: string): WaitingFacts {
  const fileOf = (owner: OwnerId) => join(ownerFolder(home, owner), "waiting.json");

  async function read(owner: OwnerId): Promise<WaitingFile> {
    const text = await readTextOrEmpty(fileOf(owner));
    return text === "" ? { facts: [], decided: [] } : waitingFile.parse(JSON.parse(text));
  }

  const write = (owner: OwnerId, { facts, decided }: WaitingFile) =>
    writeFileAtomically(
      fileOf(owner),
      JSON.stringify({ facts: facts.slice(-maxWaiting), decided: decided.slice(-maxDecided) }),
    );

  return {
    list: async (owner) => (await read(owner)).facts,
    async add(owner, provider, facts) {
      if (facts.length === 0) return "kept";
      return withFileLock(fileOf(owner), async () => {
        const known = await read(owner);
        const ids = new Set([...known.decided, ...known.facts.map(({ id }) => id)]);
        const added = facts.flatMap(({ text, session, at, after }): WaitingFact[] => {
          const id = idOf(session, text);
          if (ids.has(id)) return [];
          ids.add(id);
          return [{ id, text, session, at, after: [...after], provider }];
        });
        if (added.length > 0) await write(owner, { ...known, facts: [...known.facts, ...added] });
        return "kept" as const;
      });
    },
    async decide(owner, id, keep) {
      return withFileLock(fileOf(owner), async () => {
        const known = await read(owner);
        const fact = known.facts.find((each) => each.id === id);
        if (fact === undefined) return "not_found";
        // First, so that a crash in between keeps it twice rather than not at all: both stores count a text once.
        if (keep !== null && (await keep(fact)) === "busy") return "busy";
        const facts = known.facts.filter((each) => each.id !== id);
        await write(owner, { facts, decided: [...known.decided, id] });
        return fact;
      });
    },
  };
}

/** The same sentence of the same session is one fact, however often its segment is committed. */
function idOf(session: SessionId, text: string): string {
  return createHash("sha256").update(`${session} ${text}`).digest("hex").slice(0, 24);
}
