import { type Log, readContext, type RunRow, taintOf, type ToolResult } from "@holdfast/engine";
import {
  decodeEvent,
  type KnownEvent,
  type Part,
  type Seq,
  type ShownImage,
  type TaintSource,
  textOf,
  type ToolDetails,
  type ToolFile,
} from "@holdfast/protocol";

import { failed } from "../../agent/tools/define-tool.ts";
import { createExcerpt } from "../../util/excerpt.ts";
import { briefOf, type Child, descendantsOf } from "./child-session.ts";

/** Its answer may repeat whatever it has read. */
export async function taintOfChild(
  { store }: Pick<Log, "store">,
  { owner, session }: Child,
): Promise<readonly TaintSource[]> {
  const context = await readContext(store.reads, owner, session);
  return context === null ? [] : taintOf(context);
}

/** The task as its card shows it. */
export async function childDetails(
  { store: { reads } }: Pick<Log, "store">,
  child: Child,
): Promise<ToolDetails> {
  const { owner, session, runId } = child;
  const [row, run, brief, runs] = await Promise.all([
    reads.session(owner, session),
    reads.run(owner, runId),
    briefOf(reads, owner, session),
    descendantsOf(reads, child),
  ]);
  const usages = await Promise.all(runs.map((each) => reads.usage(owner, { runId: each })));
  const costMicros = usages.reduce((sum, usage) => sum + usage.costMicros, 0);
  const { createdAt = 0, endedAt = null } = run ?? {};
  return {
    child: {
      sessionId: session,
      runId,
      ...(row !== null && { title: row.title ?? undefined }),
      ...(brief?.profile && { profile: brief.profile.name }),
      ...(costMicros > 0 && { costMicros }),
      ...(endedAt !== null && { tookMs: Math.max(0, Math.round(endedAt - createdAt)) }),
    },
  };
}

/** What the parent gets: the answer as text, and what the child has made or sent as pictures and files. */
export async function resultOf(log: Log, child: Child, run: RunRow | null): Promise<ToolResult> {
  if (run === null) return failedResult(log, child, "The session that had the task is gone.");
  const said = await readAnswer(log, child);
  const { notice, isConcluded } = said;
  if (run.state === "completed") {
    const early = isConcluded
      ? "\n[its budget was used up, so it was told to conclude: the answer may not be whole]"
      : "";
    const output = `${said.answer}${namesOf(said)}\n\n[answered in session ${child.session}]${early}`;
    return { outcome: "ok", output, ...(await shown(log, child, said)) };
  }
  const cause = run.cause === null ? "" : ` (${run.cause})`;
  const noticeText = notice === "" ? "" : ` ${notice}`;
  return failedResult(log, child, `Its run ended as ${run.state}${cause}.${noticeText}`, said);
}

export async function overdueResult(log: Log, child: Child, minutes: number): Promise<ToolResult> {
  const reason = `It took longer than ${minutes} minutes and was stopped.`;
  return failedResult(log, child, reason, await readAnswer(log, child));
}

async function failedResult(
  log: Log,
  child: Child,
  reason: string,
  said: Answer = nothing,
): Promise<ToolResult> {
  const text = `${said.answer}${namesOf(said)}`;
  const last = text === "" ? "" : `\nIt last said:\n${text}`;
  return {
    ...failed(`${reason} Its session is ${child.session}.${last}`),
    ...(await shown(log, child, said)),
  };
}

/** As the model reads them, below the answer. */
function namesOf({ files }: Answer): string {
  const names = files.map(
    ({ name = "picture", mediaType, size, blobId }) =>
      `[file: ${name}, ${mediaType}, ${size} bytes, ${blobId}]`,
  );
  return names.length === 0 ? "" : `\n\n${names.join("\n")}`;
}

const imageTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
]);
/** Each is sent again with every step that follows. */
const maxImages = 4;

async function shown(
  log: Log,
  child: Child,
  { files }: Answer,
): Promise<{ readonly details: ToolDetails; readonly images?: readonly ShownImage[] }> {
  const images = files
    .filter(({ mediaType }) => imageTypes.has(mediaType))
    .slice(0, maxImages)
    .map(({ blobId, mediaType }) => ({ blobId, mediaType }));
  const details = await childDetails(log, child);
  return {
    details: { ...details, ...(files.length > 0 && { files: [...files] }) },
    ...(images.length > 0 && { images }),
  };
}

interface Answer {
  /** The run's last words. */
  readonly answer: string;
  /** Its last notice, which says why it failed. */
  readonly notice: string;
  readonly isConcluded: boolean;
  readonly files: readonly ToolFile[];
}

const nothing: Answer = { answer: "", notice: "", isConcluded: false, files: [] };

const maxAnswerLength = 30_000;
const pageSize = 100;
const maxPages = 10;
const maxFiles = 16;

async function readAnswer(log: Log, child: Child): Promise<Answer> {
  let [answer, notice, isConcluded] = ["", "", false];
  const files = new Map<string, ToolFile>();
  for (const event of await readEntries(log, child)) {
    if (event.type === "notice.added") {
      notice = event.data.text;
      isConcluded ||= event.data.kind === "budget_used";
    }
    if (event.type === "message.assistant") answer = textOf(event.data.parts) || answer;
    if (event.type !== "message.assistant" && event.type !== "message.tool") continue;
    for (const file of event.data.parts.flatMap(filesIn)) files.set(file.blobId, file);
  }
  const excerpt = createExcerpt(maxAnswerLength);
  excerpt.add(answer);
  return {
    answer: excerpt.text(),
    notice,
    isConcluded,
    files: [...files.values()].slice(-maxFiles),
  };
}

/** Those of the child's run, oldest first. */
async function readEntries(
  { store: { reads } }: Log,
  { owner, session, runId }: Child,
): Promise<readonly KnownEvent[]> {
  const found: KnownEvent[] = [];
  let before: Seq | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const read = await reads.entries(owner, session, {
      limit: pageSize,
      ...(before !== undefined && { before }),
    });
    const events = (read?.entries ?? []).flatMap((entry) => {
      const decoded = entry.runId === runId ? decodeEvent(entry) : null;
      return decoded?.kind === "known" ? [decoded.event] : [];
    });
    found.unshift(...events);
    before = read?.entries[0]?.seq;
    if (read?.more !== true || before === undefined) break;
  }
  return found;
}

/** Tools that give files to whoever asked. Files of other tools are material, and stay with the child. */
const givingTools: ReadonlySet<string> = new Set(["send_file", "delegate"]);

function filesIn(part: Part): readonly ToolFile[] {
  if (part.type === "image") {
    const { blobId, mediaType, size = 0, name } = part;
    return [{ blobId, mediaType, size, ...(name !== undefined && { name }) }];
  }
  const gives = part.type === "tool_result" && givingTools.has(part.name);
  return gives ? (part.details?.files ?? []) : [];
}
