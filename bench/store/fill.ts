import type { Store } from "@holdfast/engine";
import { aCommit, anEvent, aSession, aUserMessage } from "@holdfast/testing/fixtures/factories";
import { assertCommitted } from "@holdfast/testing/fixtures/open-session";
import { ids, type NewEvent, type OwnerId, ownerId } from "@holdfast/protocol";

import type { Corpus } from "./corpus.ts";

/** Everything in a prepared store belongs to one owner. */
export const benchOwner: OwnerId = ownerId.parse("someone");

const concurrentCommits = 2_000;
const messagesPerCommit = 500;

export function messageEvent(corpus: Corpus, index: number): NewEvent {
  const { role, content } = corpus.at(index);
  if (role === "user") return aUserMessage(content);
  const parts = [{ type: "text" as const, text: content }];
  return anEvent("message.assistant", { messageId: ids.make("message"), parts });
}

/** Sessions of one message each. */
export async function fillSessions(
  store: Store,
  corpus: Corpus,
  count: number,
  owner = benchOwner,
): Promise<string[]> {
  const sessions: string[] = [];
  for (let done = 0; done < count; done += concurrentCommits) {
    const commits = Array.from({ length: Math.min(concurrentCommits, count - done) }, (_, index) =>
      aSession({}, owner, messageEvent(corpus, done + index)),
    );
    const results = await Promise.all(commits.map((commit) => store.commit(commit)));
    results.forEach(assertCommitted);
    sessions.push(...commits.map((commit) => commit.session));
  }
  return sessions;
}

/** One session with this many messages. */
export async function fillSession(
  store: Store,
  corpus: Corpus,
  count: number,
  first = 0,
  owner = benchOwner,
): Promise<string> {
  const opening = aSession({ title: `A talk of ${count} messages` }, owner);
  assertCommitted(await store.commit(opening));
  for (let done = 0; done < count; done += messagesPerCommit) {
    const events = Array.from({ length: Math.min(messagesPerCommit, count - done) }, (_, index) =>
      messageEvent(corpus, first + done + index),
    );
    assertCommitted(await store.commit(aCommit(opening, events)));
  }
  return opening.session;
}
