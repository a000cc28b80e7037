import type { Log } from "@holdfast/engine";
import {
  ids,
  type LaneKey,
  newEvent,
  type OwnerId,
  type RunId,
  type SessionId,
} from "@holdfast/protocol";
import { signInStrings } from "./strings.ts";

export interface SignInNoticeDeps {
  readonly log: Pick<Log, "commit" | "store">;
  /** A link that begins the sign-in; `null` if there is none. */
  readonly link: (name: string) => Promise<string | null>;
  /** Whether people in this lane speak for the owner: whoever follows the link chooses the account. */
  readonly mayAnswer: (owner: OwnerId, lane: LaneKey | null) => Promise<boolean>;
}

interface Place {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly lane?: LaneKey | null;
  readonly runId?: RunId;
}

/** Tells people in a conversation, on every surface that shows it, that a server needs them to sign in. */
export interface SignInNotices {
  tell(place: Place, name: string): Promise<void>;
}

const maxTold = 1_000;

export function createSignInNotices({ log, link, mayAnswer }: SignInNoticeDeps): SignInNotices {
  const told = new Set<string>();
  return {
    async tell(place, name) {
      const { owner, session, lane = null } = place;
      const isOwners = await mayAnswer(owner, lane);
      const address = isOwners ? await link(name) : null;
      // Once for each link: a new one is told again.
      const key = JSON.stringify([session, name, address]);
      if (told.has(key)) return;
      told.add(key);
      const [oldest] = told;
      if (told.size > maxTold && oldest !== undefined) told.delete(oldest);
      // Chats are sent what belongs to a run.
      const runId = place.runId ?? (await log.store.reads.session(owner, session))?.liveRun;
      const notice = newEvent(
        ids.make("event"),
        "notice.added",
        {
          noticeId: ids.make("notice"),
          kind: "mcp_sign_in",
          text: isOwners ? signInStrings.needed(name) : signInStrings.neededElsewhere(name),
          ...(address !== null && { details: { link: address } }),
        },
        runId ?? undefined,
      );
      await log.commit({ owner, session, events: [notice], touch: "quiet" });
    },
  };
}
