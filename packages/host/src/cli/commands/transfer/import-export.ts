import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { StoreFailure } from "@holdfast/engine";

import { openStore } from "../../../open-store.ts";
import { prepareHome } from "../../../ops/config/home.ts";
import { readConfig } from "../../../ops/config/read-config.ts";
import {
  copyExport,
  type CopyProgress,
  type CopyReport,
} from "../../../ops/full-export/copy-export.ts";
import { fullExportFormat } from "../../../ops/full-export/format.ts";
import { systemCode } from "../../../util/outcome.ts";
import { withFileLock } from "../../../util/atomic-file.ts";
import { type Arguments, exit, type Terminal } from "../../command.ts";
import { findRunningHost } from "../../connection/running-hosts.ts";
import { cleanLine } from "../../screen/text.ts";
import { transferStrings } from "../../strings/data.ts";

const texts = transferStrings.importAll;
const progressMs = 2_000;
const startBytes = 200;

/** Whether the file begins as a full export does; its rest may be anything. */
export async function isFullExport(file: string): Promise<boolean> {
  const handle = await open(file, "r").catch(() => null);
  if (handle === null) return false;
  try {
    if ((await handle.stat()).isDirectory()) return false;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(startBytes), 0, startBytes, 0);
    const start = buffer.toString("utf8", 0, bytesRead).replaceAll(/\s/g, "");
    return start.startsWith(`{"format":"${fullExportFormat}",`);
  } finally {
    await handle.close();
  }
}

/** `holdfast import <file>` of a full export. No host may work on the store meanwhile. */
export async function importExport(
  file: string,
  given: Arguments,
  terminal: Terminal,
): Promise<number> {
  const fail = (sentence: string): number => {
    terminal.printError(cleanLine(sentence));
    return exit.failed;
  };
  const config = readConfig({ ...terminal, flags: given.flags });
  if (!config.ok) return fail(config.failure.message);
  const home = config.value.home.value;
  if (config.value.url.value !== undefined) return fail(texts.notThroughUrl);
  const serving = await findRunningHost(home);
  if (serving !== undefined) return fail(texts.hostRuns(serving));
  const prepared = prepareHome(home);
  if (!prepared.ok) return fail(prepared.failure.message);
  const opened = await openStore(config.value, (bug) => terminal.printError(bug.message));
  if (!opened.ok) return fail(opened.failure.message);
  const { store } = opened.value;
  try {
    const copied = await withFileLock(join(home, "import"), () =>
      copyExport({
        store,
        home,
        open: () => createReadStream(file),
        onProgress: showProgress(terminal),
      }),
    );
    if (copied === "busy") return fail(texts.busy);
    if (copied.status === "other_unfinished") return fail(texts.otherUnfinished(copied.sha256));
    if (copied.status === "fault") {
      const { line, code, message } = copied.fault;
      return fail(texts.fault(file, line, code, message));
    }
    for (const line of describe(copied.report)) terminal.print(cleanLine(line));
    const { findings, refused } = copied.report;
    return findings.length + refused.length === 0 ? exit.done : exit.failed;
  } catch (error) {
    if (error instanceof StoreFailure) return fail(texts.stopped(error.code, error.message));
    // The disk is full, or a folder of the home can't be written.
    const code = systemCode(error);
    if (/^E[A-Z]+$/.test(code) && error instanceof Error)
      return fail(texts.stopped(code, `${error.message}.`));
    throw error;
  } finally {
    await store.close();
  }
}

function showProgress(terminal: Terminal): (progress: CopyProgress) => void {
  let shownAt = Date.now();
  return ({ phase, logs, events }) => {
    if (Date.now() - shownAt < progressMs) return;
    shownAt = Date.now();
    terminal.printError(texts.progress[phase](logs, events));
  };
}

function* describe(report: CopyReport): Generator<string> {
  const { sessions, events, blobs, settings, keptHere, copies, damaged, findings } = report;
  const { leftOut, refused } = report;
  yield texts.sessions(sessions.new + sessions.continue, sessions.known, events, blobs);
  yield texts.settings(settings.taken, settings.known);
  for (const { from, to } of copies) yield texts.copied(from, to);
  if (sessions.deleted > 0) yield texts.deleted(sessions.deleted);
  if (leftOut.length > 0) yield texts.leftOut(leftOut.join(", "));
  if (settings.kept > 0) yield texts.kept(settings.kept, keptHere.join(", "));
  for (const { session, seq } of damaged) yield texts.damaged(session, seq);
  for (const { session, seq, message } of refused) yield texts.refused(session, seq, message);
  for (const { code, table, message } of findings) yield `${code}  ${table}: ${message}`;
  yield findings.length === 0 ? texts.clean : texts.notClean;
}
