import type { OutboxRow, Store } from "@holdfast/engine";
import { outboxState, type OwnerId } from "@holdfast/protocol";

import type { FakeBotApi, ShownMessage } from "../support/telegram/index.ts";

export interface Said {
  readonly chat: number;
  readonly text: string;
}

export interface GatewayFindings {
  readonly problems: readonly string[];
  readonly sent: number;
  readonly unknown: number;
}

const isMark = ({ text }: ShownMessage): boolean => text.includes("cannot know whether it arrived");

/** P11: each message is one turn; each chunk stands on the platform once, or is marked where a person sees it. */
export async function checkGateway(
  store: Store,
  owner: OwnerId,
  platform: FakeBotApi,
  said: readonly Said[],
): Promise<GatewayFindings> {
  const problems: string[] = [];
  const rows = await store.reads.outbox(owner, { states: outboxState.options, limit: 100_000 });
  const texts = await userTexts(store, owner);
  for (const { text } of said) {
    const turns = texts.filter((each) => each.includes(text)).length;
    if (turns !== 1) problems.push(`“${text}” became ${turns} turns.`);
  }
  for (const row of rows)
    if (row.state !== "sent" && row.state !== "unknown")
      problems.push(`A chunk is left ${row.state}: ${row.delivery} ${row.chunk} ${row.code ?? ""}`);
  problems.push(...checkShown(rows, platform), ...checkOrder(rows));
  const count = (state: OutboxRow["state"]) => rows.filter((row) => row.state === state).length;
  return { problems, sent: count("sent"), unknown: count("unknown") };
}

function checkShown(rows: readonly OutboxRow[], platform: FakeBotApi): string[] {
  const problems: string[] = [];
  const known = new Set(rows.flatMap(({ platformId }) => platformId ?? []));
  const shown = platform.messages.filter(({ from }) => from === "bot");
  for (const id of known)
    if (!shown.some((message) => String(message.id) === id))
      problems.push(`Recorded as shown, and is not: ${id}.`);
  // What nobody recorded can only be what a crash has made unknown.
  const unrecorded = shown.filter(({ id }) => !known.has(String(id))).length;
  const unknown = rows.filter(({ state }) => state === "unknown").length;
  if (unrecorded > unknown)
    problems.push(`${unrecorded} messages stand there for ${unknown} unknown chunks.`);
  const marks = shown.filter(isMark).length;
  if (marks < unknown) problems.push(`${unknown} chunks are unknown, and ${marks} marks say so.`);
  return problems;
}

/** The chunks of a delivery follow one another: no stretch is missing, and none is there twice. */
function checkOrder(rows: readonly OutboxRow[]): string[] {
  const deliveries = Map.groupBy(rows, ({ delivery }) => delivery);
  return [...deliveries].flatMap(([delivery, chunks]) => {
    let at = 0;
    for (const { from, to } of chunks.toSorted((a, b) => a.chunk - b.chunk)) {
      if (from !== at || to < from) return [`${delivery} goes from ${at} on at ${from}.`];
      at = to;
    }
    return [];
  });
}

async function userTexts({ reads }: Store, owner: OwnerId): Promise<readonly string[]> {
  const { sessions } = await reads.sessions(owner, { limit: 1_000 });
  const texts: string[] = [];
  for (const { id } of sessions) {
    const page = await reads.entries(owner, id, { limit: 100_000 });
    for (const { type, data } of page?.entries ?? [])
      if (type === "message.user") texts.push(JSON.stringify(data["parts"]));
  }
  return texts;
}
