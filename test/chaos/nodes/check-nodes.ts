import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

import type { Client } from "@holdfast/client";
import type { Seq, SessionId, StoredEvent } from "@holdfast/protocol";
import type { SeededRandom } from "@holdfast/testing/simulator/scheduler";

import { acknowledged, type Evidence, known } from "../processes/evidence.ts";
import type { Effect } from "../processes/protocol.ts";

/** A message that makes a host run a command, which leaves a file of its own each time that it runs. */
export function writeCommand(chance: SeededRandom): string {
  const parts = [`{rate:${chance.pick([20, 60, 200])}}`, `{words:${chance.between(10, 60)}}`];
  if (chance.next() < 0.4) {
    const name = `effect_${chance.between(1, 1e9)}`;
    const command = `mkdir -p effects; touch effects/${name}-$(cat /proc/sys/kernel/random/uuid); sleep 0.2`;
    parts.push(
      `{tool:terminal ${JSON.stringify({ command })}}`,
      `{words:${chance.between(3, 10)}}`,
    );
  }
  return parts.join(" ");
}

/** The names of the files that commands have left on any machine, each once. */
export function readEffectFiles(homes: readonly string[]): string[] {
  const found = new Set<string>();
  for (const home of homes) {
    const workspaces = join(home, "workspaces");
    for (const session of existsSync(workspaces) ? readdirSync(workspaces) : []) {
      const folder = join(workspaces, session, "effects");
      if (existsSync(folder)) for (const file of readdirSync(folder)) found.add(file);
    }
  }
  return [...found];
}

/**
 * Which call left which file. A file names its command, and a command may have been called again by a retry: then each
 * call that is recorded as done gets a file first, and each that may have been done after that.
 */
export function effectsOf(
  logs: ReadonlyMap<SessionId, readonly StoredEvent[]>,
  files: readonly string[],
): Effect[] {
  const calls = new Map<string, { callId: string; rank: number }[]>();
  for (const events of logs.values()) {
    const outcomes = outcomesOf(events);
    for (const { callId, command } of commandsOf(events)) {
      const name = /effects\/(effect_\d+)-/.exec(command)?.[1];
      if (name === undefined) continue;
      const rank = { ok: 0, unknown: 1 }[outcomes.get(callId) ?? ""] ?? 2;
      calls.set(name, [...(calls.get(name) ?? []), { callId, rank }]);
    }
  }
  const left = new Map(
    [...calls].map(([name, list]) => [name, list.toSorted((a, b) => a.rank - b.rank)]),
  );
  const given = new Map<string, string>();
  return files.map((file) => {
    const name = file.slice(0, file.indexOf("-"));
    const callId = left.get(name)?.shift()?.callId ?? given.get(name) ?? `unknown call of ${file}`;
    given.set(name, callId);
    return { callId, by: "a machine", replay: "never" };
  });
}

function commandsOf(events: readonly StoredEvent[]): { callId: string; command: string }[] {
  return known(events).flatMap((event) =>
    event.type !== "message.assistant"
      ? []
      : event.data.parts.flatMap((part) =>
          part.type === "tool_call"
            ? [{ callId: part.callId, command: JSON.stringify(part.input) }]
            : [],
        ),
  );
}

function outcomesOf(events: readonly StoredEvent[]): Map<string, string> {
  return new Map(resultsOf(events).map(({ callId, outcome }) => [callId, outcome]));
}

function resultsOf(events: readonly StoredEvent[]) {
  return known(events).flatMap((event) =>
    event.type !== "message.tool"
      ? []
      : event.data.parts.flatMap((part) => (part.type === "tool_result" ? [part] : [])),
  );
}

/** What happens to a call that was allowed, unless it runs: its run ends first, and says so. */
const withoutRun: ReadonlySet<string> = new Set(["cancelled", "unknown"]);
const endedEarly: ReadonlySet<string> = new Set(["cancelled", "failed", "interrupted"]);

/** P7: an answer that was acknowledged is in the log, and a call that it allows is run on whichever host. */
export function checkAnswers(evidence: Evidence): string[] {
  const problems: string[] = [];
  for (const { request } of acknowledged(evidence)) {
    if (request.act !== "answer") continue;
    const { approvalId, session, decision } = request;
    const events = evidence.logs.get(session) ?? [];
    const log = known(events);
    const asked = log.find(
      (event) => event.type === "approval.asked" && event.data.approvalId === approvalId,
    );
    const isAnswered = log.some(
      (event) => event.type === "approval.answered" && event.data.approvalId === approvalId,
    );
    if (!isAnswered || asked?.type !== "approval.asked") {
      problems.push(`[P7] the answer to ${approvalId} was acknowledged and is not there`);
      continue;
    }
    if (decision === "deny") continue;
    const { callId } = asked.data;
    const isStarted = log.some(
      (event) => event.type === "tool.started" && event.data.callId === callId,
    );
    const result = resultsOf(events).find((part) => part.callId === callId);
    // A run that needs the files of a lost host ends, and names that host.
    const isOver = log.some(
      ({ type, data, runId }) =>
        type === "run.state" && runId === asked.runId && endedEarly.has(data.state),
    );
    const isExcused = isOver
      ? result?.output.includes("not what was allowed") !== true
      : withoutRun.has(result?.outcome ?? "");
    if (!isStarted && !isExcused)
      problems.push(`[P7] ${callId} was allowed and not run: ${result?.outcome} ${result?.output}`);
  }
  return problems;
}

/** P5: from any cursor, each host shows the rest of the log: every event, once, in order. */
export async function checkCursors(
  hosts: readonly { readonly name: string; readonly client: Client }[],
  logs: ReadonlyMap<SessionId, readonly StoredEvent[]>,
  chance: SeededRandom,
): Promise<string[]> {
  const problems: string[] = [];
  for (const [session, log] of logs) {
    const head = log.at(-1)?.seq ?? 0;
    for (const { name, client } of hosts) {
      const after = chance.between(0, Math.max(0, head - 1)) as Seq;
      const seen: StoredEvent[] = [];
      const signal = AbortSignal.timeout(30_000);
      for await (const item of client.follow(session, after, { signal })) {
        if (item.kind === "event") seen.push(item.event);
        if (item.kind === "resync" || (seen.at(-1)?.seq ?? 0) >= head) break;
      }
      problems.push(...compareSuffix(`${name}, ${session}`, log, after, seen));
    }
  }
  return problems;
}

export function compareSuffix(
  where: string,
  log: readonly StoredEvent[],
  after: number,
  seen: readonly StoredEvent[],
): string[] {
  const expected = log.filter(({ seq }) => seq > after).map(({ id }) => id);
  const ids = seen.map(({ id }) => id);
  if (ids.join() === expected.join()) return [];
  const missing = expected.filter((id) => !ids.includes(id)).length;
  return [
    `[P5] ${where} after ${after}: ${seen.length} of ${expected.length} events, ${missing} missing`,
  ];
}

/** P1: what a page or a library has sent, and repeated by itself, was accepted once, in one session. */
export function checkOnce({ logs }: Evidence, texts: readonly string[]): string[] {
  const accepted = [...logs.values()]
    .flat()
    .filter(({ type }) => type === "input.accepted")
    .map(({ data }) => JSON.stringify(data));
  return texts.flatMap((text) => {
    const times = accepted.filter((data) =>
      data.includes(JSON.stringify(text).slice(1, -1)),
    ).length;
    return times === 1 ? [] : [`[P1] “${text}” was accepted ${times} times`];
  });
}
