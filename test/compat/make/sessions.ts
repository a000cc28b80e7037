import type { SessionId } from "@holdfast/protocol";

import { hasEnded, valueOf } from "../../e2e/served-host.ts";
import type { Driver } from "./driver.ts";

/**
 * An approval is bound to its workspace, so this one has to be at the same path wherever the fixture is opened. The command
 * writes to the host's TMPDIR instead.
 */
export const sharedWorkspace = "/usr";
const askedCommand = 'echo run >> "$TMPDIR/effects"; cat "$TMPDIR/effects"';

export const branchKey = "branch-once";
export const picture = Uint8Array.from({ length: 5_000 }, (_, index) => (index * 7) % 256);

/** Sessions in which nothing is going on. */
export async function createRestingSessions(driver: Driver) {
  const { client, createSession, talk, read } = driver;
  const plain = await createSession();
  await talk(plain, "Herons stand on one leg {words:30}", "Why do they? {think:10}{words:20}");
  const change = { title: "About herons", pinned: true, tags: ["birds", "legs"], project: "Zoo" };
  valueOf(await client.changeSession({ params: { id: plain }, body: change }));

  const undone = await createSession();
  await talk(undone, "Storks clatter {words:10}", "And cranes? {words:10}");
  valueOf(await client.undo({ params: { id: undone }, body: {} }));

  const at = (await read(plain)).entries[1]!.seq;
  const headers = { "idempotency-key": branchKey };
  const body = { at, title: "Another way" };
  const made = valueOf(await client.branch({ params: { id: plain }, headers, body }));
  const branch = made.session.id;
  await talk(branch, "Do egrets, too? {words:15}");

  const archived = await createSession();
  await talk(archived, "Over and done {words:5}");
  valueOf(await client.changeSession({ params: { id: archived }, body: { archived: true } }));

  const trashed = await createSession();
  await talk(trashed, "Throw this away {words:5}");
  valueOf(await client.trashSession({ params: { id: trashed } }));

  const memory = await createSession();
  await talk(memory, "I live in a lighthouse near Lisbon. {words:5}");

  const compacted = await createCompacted(driver);
  const attached = await createAttached(driver);
  const allowed = await createAllowed(driver);
  return { plain, undone, branch, archived, trashed, memory, compacted, attached, allowed };
}

async function createCompacted({ client, createSession, talk, follow }: Driver) {
  const id = await createSession({ model: "rehearsal" });
  const numbers = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight"];
  await talk(id, ...numbers.map((number) => `${number} {rate:100000}{words:1500}`));
  valueOf(await client.compact({ params: { id }, body: { focus: "numbers" } }));
  await follow(id, ({ session }) => session.epoch === 1);
  return id;
}

async function createAttached({ client, createSession, send, follow }: Driver) {
  const mediaType = "image/png";
  const { blobId } = valueOf(await client.putBlob({ body: picture, mediaType }));
  const id = await createSession();
  const attachments = [{ type: "image", blobId, mediaType, name: "heron.png" } as const];
  await send(id, "What is this? {echo}", { attachments });
  await follow(id, (state) => hasEnded(state) && state.session.titleSource === "generated");
  return id;
}

/** A command is allowed for good: `sleep` is not asked about again. */
async function createAllowed({ client, createSession, send, follow }: Driver) {
  const id = await createSession();
  await send(id, 'Wait {tool:terminal {"command":["sleep","0"]}} {words:3}');
  await follow(id, ({ run }) => run?.state === "waiting");
  const [approval] = valueOf(await client.listApprovals({ query: { sessionId: id } })).approvals;
  const body = { decision: "always", rule: "terminal: sleep *" } as const;
  valueOf(await client.answerApproval({ params: { id: approval!.approvalId }, body }));
  await follow(id, (state) => hasEnded(state) && state.session.titleSource === "generated");
  return id;
}

/** Runs that wait for a person, one of them with a message queued behind it. */
export async function createWaitingSessions({ createSession, send, follow }: Driver) {
  const approval = await createSession({ workspace: sharedWorkspace });
  const input = JSON.stringify({ command: askedCommand });
  await send(approval, `Run it {tool:terminal ${input}} {words:3}`);
  await follow(approval, ({ run }) => run?.state === "waiting");
  await send(approval, "And then? {words:4}");

  const question = await createSession();
  const asked = JSON.stringify({ question: "Which colour?", choices: ["red", "blue"] });
  await send(question, `Paint it {tool:ask_user ${asked}} {words:3}`);
  await follow(question, ({ run }) => run?.state === "waiting");
  return { approval, question };
}

type LiveName = "parent" | "child" | "tool" | "live";

/** Runs that the kill interrupts: in a stream, in a tool, and while a child works. */
export async function startLiveRuns(
  driver: Driver,
): Promise<Readonly<Record<LiveName, SessionId>>> {
  const { client, createSession, send, follow } = driver;
  const parent = await createSession();
  const task = JSON.stringify({ task: "Count the waves {rate:30}{words:80}" });
  await send(parent, `Hand it on {tool:delegate ${task}} {words:3}`);
  const tool = await createSession();
  await send(tool, 'Wait longer {tool:terminal {"command":["sleep","20"]}} {words:3}');
  const live = await createSession();
  await send(live, "Tell me of the sea {rate:30}{words:80}");
  await follow(live, ({ run }) => run?.state === "running");
  await send(live, "And of the shore {words:7}");

  await follow(tool, (state) => state.live?.tools.some(({ outcome }) => outcome === null) ?? false);
  await follow(parent, (state) => state.live?.tools.some(({ output }) => output !== "") ?? false);
  const query = { archived: true, tag: `child-of:${parent}` } as const;
  const [child] = valueOf(await client.listSessions({ query })).sessions;
  return { parent, child: child!.id, tool, live };
}
