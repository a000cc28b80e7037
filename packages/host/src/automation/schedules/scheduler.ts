import { type Admission, admitMessage, type Log, type Runner } from "@holdfast/engine";
import type { IdSource, LaneKey, OwnerId, SessionId } from "@holdfast/protocol";

import type { Schedule } from "./schedule-store.ts";

export interface SubmitPromptDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly runner: Pick<Runner, "notify">;
  /** The session that a lane points at, made where there is none: by two who ask for the same, once. */
  readonly sessionFor: (owner: OwnerId, lane: LaneKey, key: string) => Promise<SessionId>;
}

export interface PromptSource {
  /** Names the message for good: the store takes a name once. */
  readonly key: string;
  /** Tells the model why this is said. */
  readonly heading: string;
}

interface SubmittedPrompt {
  readonly session: SessionId;
  readonly admission: Admission;
}

/** Says a schedule's prompt where it is to be said, and lets it run. */
export async function submitPrompt(
  { log, ids, runner, sessionFor }: SubmitPromptDeps,
  owner: OwnerId,
  { prompt, target }: Pick<Schedule, "prompt" | "target">,
  { key, heading }: PromptSource,
): Promise<SubmittedPrompt> {
  const lane = "lane" in target ? target.lane : undefined;
  const session = "lane" in target ? await sessionFor(owner, target.lane, key) : target.sessionId;
  const admission = await admitMessage(log, ids, {
    owner,
    session,
    clientId: key,
    text: `[${heading}]\n\n${prompt}`,
    ...(lane !== undefined && { lane, inbound: { key } }),
  });
  if (admission.status === "accepted") runner.notify(owner, session);
  return { session, admission };
}
