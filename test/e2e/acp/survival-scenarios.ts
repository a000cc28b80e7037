import type { EntryView } from "@holdfast/protocol";
import {
  countWords,
  followUntil,
  hasEnded,
  serveWithClient,
  textIn,
  valueOf,
} from "../served-host.ts";
import { openEditor } from "./editor.ts";
import { asId, serveProject } from "./project.ts";

/** A bridge is killed in the middle of an answer, and another one loads the session. */
export async function bridgeDies(settings: Record<string, string> = {}) {
  const served = await serveProject(settings);
  const { project, client } = served;
  const first = await openEditor({ settings: served.settings });
  const { sessionId } = await first.newSession(project);
  const id = asId(sessionId);
  first.prompt(sessionId, "{rate:30} {words:45}").catch(() => undefined);
  await first.until(() => (countWords(first.text()) > 3 ? true : undefined));
  await first.kill();

  const second = await openEditor({ settings: served.settings });
  await second.load(sessionId, project);
  const state = await followUntil(client, id, hasEnded);
  await second.until(() => (countWords(second.text()) >= 45 ? true : undefined));
  return {
    run: state.run,
    shown: [second.text("user_message_chunk"), second.text()],
    stored: textsIn(state.entries),
  };
}

/** A prompt is open while its host is killed and another one takes over; then one more is sent. */
export async function hostReturns(settings: Record<string, string> = {}) {
  const withLease = { HOLDFAST_LEASE_MS: "3000", ...settings };
  const served = await serveProject(withLease);
  const editor = await openEditor({ settings: served.settings });
  const { sessionId } = await editor.newSession(served.project);
  const prompted = editor.prompt(sessionId, "{rate:30} {words:90}");
  await editor.until(() => (countWords(editor.text()) > 3 ? true : undefined));
  await served.host.kill();
  const next = await serveWithClient({ ...withLease, HOLDFAST_HOME: served.home });
  const ends = [await prompted, await editor.prompt(sessionId, "More {words:4}")];
  const { entries } = valueOf(await next.client.readSession({ params: { id: asId(sessionId) } }));
  const stored = textsIn(entries.filter((entry) => !isPrompt(entry))).join("");
  return { ends, shown: editor.text(), stored };
}

const isPrompt = (entry: EntryView): boolean => entry.type === "message" && entry.role === "user";

function textsIn(entries: readonly EntryView[]): string[] {
  return entries.flatMap((entry) => (entry.type === "message" ? [textIn(entry)] : []));
}
