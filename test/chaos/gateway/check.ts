import type { OutboxRow, RunRow, Store } from "@holdfast/engine";
import { decodeEvent, outboxState, type OwnerId, type StoredEvent } from "@holdfast/protocol";

import type { FakeBotApi, ShownMessage } from "@holdfast/testing/telegram/fake-bot-api";

export interface SentMessage {
  readonly chat: number;
  readonly text: string;
}

export interface GatewayFindings {
  readonly problems: readonly string[];
  readonly sent: number;
  readonly unknown: number;
  /** Runs that were killed so often that they were given up. */
  readonly interrupted: number;
}

const isMark = ({ text }: ShownMessage): boolean => text.includes("cannot know whether it arrived");

/** P11: each message is one turn; each chunk is on the platform once, or is marked where a person sees it. */
export async function checkGateway(
  store: Store,
  owner: OwnerId,
  platform: FakeBotApi,
  said: readonly SentMessage[],
): Promise<GatewayFindings> {
  const problems: string[] = [];
  let interrupted = 0;
  const all = await store.reads.outbox(owner, { states: outboxState.options, limit: 100_000 });
  const rows = all.filter((row) => !isFinalEdit(row));
  const entries = await entriesOf(store, owner);
  for (const { text } of said) {
    const turns = entries.filter(
      (item) => item.type === "message.user" && wordsOf(item).includes(text),
    );
    const [runId] = turns.map((turn) => turn.runId);
    if (turns.length !== 1) problems.push(`“${text}” became ${turns.length} turns.`);
    const run = runId === undefined ? null : await store.reads.run(owner, runId);
    if (run === null || turns.length !== 1) continue;
    if (run.state === "interrupted") interrupted += 1;
    problems.push(...checkAnswer(run, rows, entries, platform));
  }
  for (const row of all)
    if (row.state !== "sent" && row.state !== "unknown")
      problems.push(`A chunk is left ${row.state}: ${row.delivery} ${row.chunk} ${row.code ?? ""}`);
  problems.push(...checkShown(rows, platform), ...checkMarks(rows, platform), ...checkOrder(rows));
  const count = (state: OutboxRow["state"]) => rows.filter((row) => row.state === state).length;
  return { problems, sent: count("sent"), unknown: count("unknown"), interrupted };
}

/** Edits a message of another delivery again, after the late edit of a host that had lost its lease. */
const isFinalEdit = ({ kind, chunk, inbound, platformId }: OutboxRow): boolean =>
  kind === "answer" && chunk === 0 && inbound === null && platformId !== null;

function checkShown(rows: readonly OutboxRow[], platform: FakeBotApi): string[] {
  const problems: string[] = [];
  const known = new Set(rows.flatMap(({ platformId }) => platformId ?? []));
  const shown = platform.messages.filter(({ from }) => from === "bot");
  for (const id of known)
    if (!shown.some((message) => String(message.id) === id))
      problems.push(`Recorded as shown, and is not: ${id}.`);
  // An unrecorded message can only be one that a crash has made unknown.
  const unrecorded = shown.filter(({ id }) => !known.has(String(id))).length;
  const unknown = rows.filter(({ state }) => state === "unknown").length;
  if (unrecorded > unknown)
    problems.push(`${unrecorded} messages stand there for ${unknown} unknown chunks.`);
  return problems;
}

/** The first chunk after unknown ones was sent, and says that their delivery is unknown. */
function checkMarks(rows: readonly OutboxRow[], platform: FakeBotApi): string[] {
  return [...deliveriesOf(rows)].flatMap(([delivery, chunks]) =>
    chunks.flatMap(({ state, chunk }, index) => {
      if (state !== "unknown") return [];
      const next = chunks.slice(index).find((item) => item.state !== "unknown");
      const shown = platform.messages.find(({ id }) => String(id) === next?.platformId);
      const isSaid = next?.state === "sent" && shown !== undefined && isMark(shown);
      return isSaid ? [] : [`Nothing says that ${delivery} ${chunk} is unknown.`];
    }),
  );
}

function deliveriesOf(rows: readonly OutboxRow[]): Map<string, OutboxRow[]> {
  return Map.groupBy(
    rows.toSorted((a, b) => a.chunk - b.chunk),
    ({ delivery }) => delivery,
  );
}

/** Between the texts of two steps lies a gap of one. */
const maxGap = 1;

/** The chunks of a delivery are contiguous: nothing is missing, and nothing is sent twice. */
function checkOrder(rows: readonly OutboxRow[]): string[] {
  return [...deliveriesOf(rows)].flatMap(([delivery, chunks]) => {
    let at = 0;
    for (const { from, to } of chunks) {
      if (from < at || from > at + maxGap || to < from)
        return [`${delivery} goes from ${at} on at ${from}.`];
      at = to;
    }
    return [];
  });
}

/** One delivery carries the answer; if none of it is unknown, what is shown is the whole answer, once. */
function checkAnswer(
  { id: runId, state: end }: RunRow,
  rows: readonly OutboxRow[],
  entries: readonly StoredEvent[],
  platform: FakeBotApi,
): string[] {
  const chunks = rows.filter((row) => row.kind === "answer" && row.runId === runId);
  const deliveries = new Set(chunks.map(({ delivery }) => delivery));
  if (deliveries.size !== 1) return [`${runId} has ${deliveries.size} deliveries.`];
  if (chunks.some(({ state }) => state === "unknown")) return [];
  // What a spill brings back late is above a newer answer, and is not sent to the chat.
  const said = entries.filter(
    ({ type, runId: of, data }) => of === runId && answers.has(type) && data["above"] === undefined,
  );
  const shown = platform.messages.filter(({ id }) =>
    chunks.some(({ platformId }) => platformId === String(id)),
  );
  const [whole, seen] = [said.map(wordsOf), shown.map(({ text }) => text)].map(plain);
  // A run that was given up says so in its last message, even where a notice doesn't.
  const expectedTexts = end === "interrupted" ? [whole, plain([whole ?? "", givenUp])] : [whole];
  const isShown = seen !== "" && expectedTexts.includes(seen);
  return isShown ? [] : [`${runId} (${end}) is shown as “${seen}”, not “${whole}”.`];
}

const givenUp = "The host stopped in the middle of this answer. Send /resume to go on.";

/** What a run says, and what the host says about it. */
const answers: ReadonlySet<string> = new Set(["message.assistant", "notice.added"]);

function plain(texts: readonly string[]): string {
  return texts
    .join(" ")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

function wordsOf(stored: StoredEvent): string {
  const decoded = decodeEvent(stored);
  if (decoded.kind !== "known") return "";
  const { type, data } = decoded.event;
  if (type === "notice.added") return data.text;
  if (type !== "message.user" && type !== "message.assistant") return "";
  return data.parts.map((part) => (part.type === "text" ? part.text : "")).join(" ");
}

async function entriesOf({ reads }: Store, owner: OwnerId): Promise<readonly StoredEvent[]> {
  const { sessions } = await reads.sessions(owner, { limit: 1_000 });
  const pages = sessions.map(({ id }) => reads.entries(owner, id, { limit: 100_000 }));
  return (await Promise.all(pages)).flatMap((page) => page?.entries ?? []);
}
