import {
  type EventData,
  type EventType,
  type SeqRange,
  type StoredEvent,
  type Id,
  type IdKind,
  idPrefixes,
  type RunId,
  type Seq,
  type JsonObject,
} from "@holdfast/protocol";
import type { ScriptAction, EndScript, StepScript, ToolScript } from "./script.ts";

/** The log that a host would have written for this script. */
export function writeLog(acts: readonly ScriptAction[]): StoredEvent[] {
  const writer = createWriter();
  writer.emit("session.created", { title: "new" });
  for (const action of acts) {
    // An open turn is the last thing that happens to the history.
    if (writer.openRun !== null && ["turn", "cut", "redo", "compact", "trash"].includes(action.do))
      continue;
    perform(writer, action);
  }
  return writer.log;
}

export function testId<K extends IdKind>(kind: K, n: number): Id<K> {
  return `${idPrefixes[kind]}_${String(n).padStart(26, "0")}` as Id<K>;
}

type Writer = ReturnType<typeof createWriter>;

function createWriter() {
  let minted = 0;
  const log: StoredEvent[] = [];
  const mint = <K extends IdKind>(kind: K): Id<K> => testId(kind, ++minted);
  const append = (type: string, data: JsonObject, runId?: RunId): Seq => {
    const seq = (log.length + 1) as Seq;
    const at = 1_000 + seq * 10;
    log.push({ seq, id: mint("event"), type, v: 1, at, ...(runId && { runId }), data });
    return seq;
  };
  return {
    log,
    mint,
    append,
    emit: <T extends EventType>(type: T, data: EventData<T>, runId?: RunId): Seq =>
      append(type, data as JsonObject, runId),
    queue: [] as { messageId: Id<"message">; runId: RunId; text: string }[],
    notices: [] as Id<"notice">[],
    ranges: [{ from: 1 as Seq, to: null }] as SeqRange[],
    beforeCut: null as { ranges: SeqRange[]; head: Seq } | null,
    openRun: null as RunId | null,
  };
}

function perform(writer: Writer, act: ScriptAction): void {
  const { emit, append, mint, queue, notices } = writer;
  switch (act.do) {
    case "accept": {
      const [messageId, runId] = [mint("message"), mint("run")];
      queue.push({ messageId, runId, text: act.text });
      emit(
        "input.accepted",
        { messageId, runId, clientId: `c${messageId}`, hash: "h", mode: act.mode, text: act.text },
        runId,
      );
      return;
    }
    case "change":
    case "remove":
    case "cancelQueued":
      return touchQueue(writer, act);
    case "turn":
      return takeTurn(writer, act.steps, act.end);
    case "cut":
      return cut(writer, act.pick);
    case "redo":
      return redo(writer);
    case "rename":
      return void emit("session.changed", act.settings);
    case "notice":
      notices.push(mint("notice"));
      return void emit("notice.added", { noticeId: notices.at(-1)!, kind: "info", text: act.text });
    case "reword": {
      const noticeId = notices[act.pick % Math.max(1, notices.length)];
      if (noticeId) emit("notice.changed", { noticeId, kind: "changed", text: act.text });
      return;
    }
    case "trash":
      emit("session.trashed", {});
      return void emit("session.restored", {});
    case "foreign":
      return void append("later.invention", { messageId: "?", nested: [{ deep: null }] });
    case "invalid":
      return void append("message.assistant", { messageId: 7, parts: "none" });
    case "compact":
      return void emit("context.compacted", {
        epoch: 1,
        covers: { from: 1 as Seq, to: 2 as Seq },
        summary: "s",
      });
    case "lane":
      return void append("lane.bound", { lane: "web:x" });
  }
}

function touchQueue(
  writer: Writer,
  act: Extract<ScriptAction, { do: "change" | "remove" | "cancelQueued" }>,
): void {
  const { emit, queue } = writer;
  const item = queue[act.pick % Math.max(1, queue.length)];
  if (item === undefined) return;
  if (act.do === "change") {
    item.text = act.text;
    emit("input.changed", { messageId: item.messageId, text: act.text });
    return;
  }
  queue.splice(queue.indexOf(item), 1);
  if (act.do === "remove") emit("input.removed", { messageId: item.messageId });
  else emit("run.state", { state: "cancelled" }, item.runId);
}

function takeTurn(writer: Writer, steps: readonly StepScript[], end: EndScript): void {
  const { emit, queue } = writer;
  if (queue.length === 0) perform(writer, { do: "accept", mode: "queue", text: "go" });
  const { messageId, runId, text } = queue.shift()!;
  writer.beforeCut = null;
  emit("run.state", { state: "claimed", attempt: 0 }, runId);
  emit("message.user", { messageId, parts: [{ type: "text", text }] }, runId);
  emit("run.state", { state: "running" }, runId);
  steps.forEach((script, index) => {
    const last = index === steps.length - 1;
    takeStep(writer, runId, index + 1, script, last && end === "open");
  });
  if (end === "cancelled") emit("run.cancel", { by: "someone" }, runId);
  if (end === "open") writer.openRun = runId;
  else emit("run.state", { state: end, ...(end === "failed" && { cause: "model" }) }, runId);
}

/** One model call, its tools, and the settlement with the exact ranges of its deltas. */
function takeStep(
  writer: Writer,
  runId: RunId,
  number: number,
  script: StepScript,
  open: boolean,
): void {
  const { emit, mint, log } = writer;
  const messageId = mint("message");
  const begun = log.length;
  const numbers = new Map<string, Seq[]>();
  const note = (key: string, seq: Seq) => numbers.set(key, [...(numbers.get(key) ?? []), seq]);
  const asides = () => {
    for (const { at, act } of script.asides) if (at === log.length - begun) perform(writer, act);
  };
  emit("step.started", { step: number, model: "test/model" }, runId);
  for (const { part, text } of script.deltas) {
    const kind = part === 0 ? ("reasoning" as const) : ("text" as const);
    note(messageId, emit("message.delta", { messageId, part, kind, text }, runId));
    asides();
  }
  const calls = script.tools.map((tool) => ({
    tool,
    callId: mint("call"),
    resultId: mint("message"),
  }));
  for (const { tool, callId, resultId } of calls) {
    if (tool.asks) {
      const approvalId = mint("approval");
      emit("approval.asked", { approvalId, callId, name: "sh", input: {}, inputHash: "h" }, runId);
      emit("run.state", { state: "waiting" }, runId);
      emit("approval.answered", { approvalId, decision: "once" }, runId);
      emit("run.state", { state: "claimed", cause: "answered" }, runId);
      emit("run.state", { state: "claimed" }, runId);
    }
    emit("tool.started", { callId, resultId, name: "sh", input: { a: 1 }, replay: "never" }, runId);
  }
  // The tools of a step run concurrently, so their output is interleaved.
  for (let round = 0; round < 3; round++) {
    for (const { tool, callId, resultId } of calls) {
      const text = tool.outputs[round];
      if (text !== undefined) note(resultId, emit("tool.output", { callId, text }, runId));
      asides();
    }
  }
  if (open) return;
  if (script.crash) emit("run.state", { state: "claimed", attempt: number }, runId);
  for (const { tool, callId, resultId } of script.crash ? [] : calls)
    emit(
      "tool.ended",
      { callId, resultId, outcome: tool.outcome, output: tool.outputs.join("") },
      runId,
    );
  settle(writer, runId, script, messageId, calls, (key) => rangesOf(numbers.get(key) ?? []));
}

function settle(
  writer: Writer,
  runId: RunId,
  script: StepScript,
  messageId: Id<"message">,
  calls: readonly { tool: ToolScript; callId: Id<"call">; resultId: Id<"message"> }[],
  deltas: (key: string) => [Seq, Seq][],
): void {
  const text = script.deltas.map((action) => action.text).join("");
  const partial = script.crash ? { partial: "interrupted" as const } : {};
  writer.emit(
    "message.assistant",
    { messageId, parts: [{ type: "text", text }], deltas: deltas(messageId), ...partial },
    runId,
  );
  for (const { tool, callId, resultId } of calls) {
    const outcome = script.crash ? "unknown" : tool.outcome;
    const result = {
      type: "tool_result" as const,
      callId,
      name: "sh",
      outcome,
      output: tool.outputs.join(""),
    };
    writer.emit(
      "message.tool",
      { messageId: resultId, parts: [result], deltas: deltas(resultId) },
      runId,
    );
  }
}

function rangesOf(numbers: readonly Seq[]): [Seq, Seq][] {
  const ranges: [Seq, Seq][] = [];
  for (const seq of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] + 1 === seq) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}

function cut(writer: Writer, pick: number): void {
  const head = writer.log.length as Seq;
  const from = Math.max(1, head - pick * 3);
  const kept = writer.ranges.flatMap((range): SeqRange[] => {
    const to = Math.min(range.to ?? head, from - 1) as Seq;
    return to >= range.from ? [{ from: range.from, to }] : [];
  });
  writer.beforeCut = { ranges: writer.ranges, head };
  writer.ranges = [...kept, { from: (head + 1) as Seq, to: null }];
  const before = { ranges: writer.beforeCut.ranges, messageCount: pick, preview: "before" };
  writer.emit("history.cut", {
    reason: "undo",
    ranges: writer.ranges,
    messageCount: pick,
    preview: "cut",
    before,
    ...replacedBy(writer, pick),
  });
}

/** Where a message is out of view now and another waits, the one that waits is its alternative. */
function replacedBy(
  { log, ranges, queue }: Writer,
  pick: number,
): Pick<EventData<"history.cut">, "replaces"> {
  const [waiting] = queue;
  const old = log.find(
    ({ type, seq }) => type === "message.user" && seq > (ranges.at(-2)?.to ?? 0) && seq > pick,
  );
  if (waiting === undefined || old === undefined) return {};
  const messageId = old.data["messageId"] as Id<"message">;
  return { replaces: { messageId, seq: old.seq, by: waiting.messageId } };
}

function redo(writer: Writer): void {
  if (writer.beforeCut === null) return;
  const { ranges, head } = writer.beforeCut;
  const closed = ranges.map((range): SeqRange => ({ ...range, to: range.to ?? head }));
  writer.beforeCut = null;
  writer.ranges = [...closed, { from: (writer.log.length + 1) as Seq, to: null }];
  writer.emit("history.restored", { ranges: writer.ranges, messageCount: 3, preview: "back" });
}
