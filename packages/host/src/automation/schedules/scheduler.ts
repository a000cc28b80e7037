import { type Admission, admitMessage, type Log, type Runner } from "@holdfast/engine";
import type { IdSource, LaneKey, OwnerId, SessionId } from "@holdfast/protocol";

import type { Schedule } from "./schedule-store.ts";

export interface SayParts {
  readonly log: Log;
  readonly ids: IdSource;
  readonly runner: Pick<Runner, "poke">;
  /** The session that a lane points at, made where there is none: by two who ask for the same, once. */
  readonly sessionFor: (owner: OwnerId, lane: LaneKey, key: string) => Promise<SessionId>;
}

export interface Saying {
  /** Names the message for good: the store takes a name once. */
  readonly key: string;
  /** Tells the model why this is said. */
  readonly heading: string;
}

interface Said {
  readonly session: SessionId;
  readonly admission: Admission;
}

/** Says a schedule's prompt where it is to be said, and lets it run. */
export async function sayPrompt(
  { log, ids, runner, sessionFor }: SayParts,
  owner: OwnerId,
  { prompt, target }: Pick<Schedule, "prompt" | "target">,
  { key, heading }: Saying,
): Promise<Said> {
  const lane = "lane" in target ? target.lane : undefined;
  const session = "lane" in target ? await sessionFor(owner, target.lane, key) : target.sessionId;
  const admission = await admitMessage(log, ids, {
    owner,
    session,
    clientId: key,
    text: `[${heading}]\n\n${prompt}`,
    ...(lane !== undefined && { lane, inbound: { key } }),
  });
  if (admission.status === "accepted") runner.poke(owner, session);
  return { session, admission };
}
