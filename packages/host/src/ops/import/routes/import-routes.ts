import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { StoreFailure } from "@holdfast/engine";
import { importSourceInfo, type ImportView, type OwnerId } from "@holdfast/protocol";
import type { Context } from "hono";

import type { ApiDeps } from "../../../server/api/deps.ts";
import {
  answer,
  type Call,
  mountCall,
  mountStream,
  problem,
} from "../../../server/api/endpoint.ts";
import { streamFrom } from "../../../server/api/transfer.ts";
import type { HostEnv, Route } from "../../../server/http/routing.ts";
import { childSource } from "../child-source.ts";
import { listReports, readReportSummary, type ReportTotals } from "../report.ts";
import { runImport } from "../run-import.ts";
import { readItems } from "./report-items.ts";
import { ImportUploads } from "./uploads.ts";

const importsFolder = "imports";
const uploadsFolder = ".uploads";
const maxListed = 50;
const maxItems = 100;
const noTotals = { items: {}, findings: {}, before: {}, after: {}, texts: 0, differs: 0 };

interface RunningImport {
  view: ImportView;
  readonly stop: AbortController;
}

/** One import at a time, as a job; its report is a file in the home. */
export function importRoutes(deps: ApiDeps): Route[] {
  const { home } = deps;
  let running: RunningImport | undefined;
  const uploads =
    home === undefined ? null : new ImportUploads(join(home, importsFolder, uploadsFolder));

  const isRunning = (): boolean => running?.view.state === "running";

  async function start({ owner, body }: Call<"startImport">) {
    if (home === undefined) return problem("backup_unsupported");
    if (isRunning()) return problem("import_running");
    const path = body.path.replace(/^~(?=\/|$)/, homedir());
    const info = await stat(path).catch(() => null);
    const mayBeFile = importSourceInfo[body.source].reads === "file_or_folder";
    const isThere = info?.isDirectory() === true || (mayBeFile && info?.isFile() === true);
    if (!isThere) return problem("import_source_missing");
    const startedAt = await deps.log.store.now();
    // Another request may have been as fast.
    if (isRunning()) return problem("import_running");
    const name = new Date(startedAt).toISOString().replaceAll(/[:.]/g, "-");
    const view: ImportView = {
      id: `${body.source}-${name}-${randomBytes(2).toString("hex")}`,
      state: "running",
      source: body.source,
      path,
      dryRun: body.mode === "dry",
      startedAt,
      endedAt: null,
      failure: null,
      report: null,
      ...noTotals,
    };
    const job = { view, stop: new AbortController() };
    running = job;
    void run(owner, job, { ...body, path }, home);
    return answer({ import: job.view });
  }

  async function run(
    owner: OwnerId,
    job: RunningImport,
    body: Call<"startImport">["body"],
    folder: string,
  ): Promise<void> {
    const { log, facts, personas, secrets, addedServers } = deps;
    const { id, startedAt } = job.view;
    const signal = AbortSignal.any([deps.stopping, job.stop.signal]);
    const scratch = join(folder, importsFolder, `.${id}`);
    const { only = [], secrets: keys = "left", mode = "write", path, profile } = body;
    const request = { source: body.source, path, scratch, only, secrets: keys, now: startedAt };
    try {
      await removeLeftovers(join(folder, importsFolder));
      const finished = await runImport(
        { log, owner, home: folder, facts, personas, secrets, addedServers, mode },
        {
          id,
          source: childSource({ ...request, ...(profile !== undefined && { profile }) }, signal),
          path,
          folder: join(folder, importsFolder),
          startedAt,
          now: Date.now,
          signal,
          onProgress: (totals, expected) =>
            void (job.view = { ...withTotals(job.view, totals), expected }),
        },
      );
      const { reportPath: report, totals, failure } = finished;
      const state = failure === null ? "done" : "failed";
      await rm(scratch, { recursive: true, force: true });
      if (state === "done" && mode === "write") await uploads?.removeIfUpload(path);
      // Last: whoever reads that it is over finds nothing half done.
      job.view = { ...withTotals(job.view, totals), state, failure, report, endedAt: Date.now() };
    } catch (error) {
      const failure =
        error instanceof StoreFailure
          ? error.message
          : "The import failed. The host's log says why.";
      if (!(error instanceof StoreFailure) && !signal.aborted) deps.report(asError(error));
      await rm(scratch, { recursive: true, force: true });
      job.view = { ...job.view, state: "failed", failure, endedAt: Date.now() };
    }
  }

  async function find(id: string): Promise<ImportView | null> {
    if (running?.view.id === id) return running.view;
    if (home === undefined) return null;
    const folder = join(home, importsFolder);
    const stored = await readReportSummary(folder, id);
    if (stored === null) return null;
    const { head, totals } = stored;
    const { state = "failed", endedAt = null, failure = null } = totals;
    const { source, path, dryRun, startedAt } = head;
    const file = join(folder, `${id}.json`);
    const about = { id, source, path, dryRun, startedAt, state, endedAt, failure, report: file };
    return withTotals({ ...about, ...noTotals }, totals);
  }

  async function list() {
    const stored = home === undefined ? [] : await listReports(join(home, importsFolder));
    const now = running?.view;
    const ids = stored.filter((id) => id !== now?.id).slice(0, maxListed);
    const views = await Promise.all(ids.map(find));
    return answer({ imports: [...(now ? [now] : []), ...views.filter((view) => view !== null)] });
  }

  async function listItems({ params: { id }, query }: Call<"listImportItems">) {
    const view = await find(id);
    if (view === null || view.report === null) return problem("import_not_found");
    const { show = "all", q = "", after = 0, limit = maxItems } = query;
    const words = q.trim().toLowerCase();
    const { items, next } = await readItems(view.report, { show, words, after, limit });
    return answer({ items: [...items], next });
  }

  async function upload({ params: { id }, query, body }: Call<"uploadImport">) {
    if (uploads === null) return problem("backup_unsupported");
    const received = await uploads.receive({ id, ...query, bytes: body.bytes });
    return typeof received === "string" ? problem(received) : answer(received);
  }

  async function sendReport({ params: { id } }: Call<"readImportReport">, c: Context<HostEnv>) {
    const view = await find(id);
    if (view === null || view.report === null) return problem("import_not_found");
    const file = streamFrom(chunksOf(view.report), () => c.env.outgoing?.destroy());
    return c.body(file, 200, {
      "content-type": "application/json; charset=utf-8",
      "content-disposition": `attachment; filename="${id}.json"`,
      "cache-control": "no-store",
    });
  }

  return [
    mountCall(deps, "startImport", start),
    mountCall(deps, "listImports", list),
    mountCall(deps, "readImport", async ({ params: { id } }) => {
      const view = await find(id);
      return view === null ? problem("import_not_found") : answer({ import: view });
    }),
    mountStream(deps, "readImportReport", sendReport),
    mountCall(deps, "listImportItems", listItems),
    mountCall(deps, "uploadImport", upload),
    mountCall(deps, "stopImport", async ({ params: { id } }) => {
      if (running?.view.id === id) running.stop.abort();
      const view = await find(id);
      return view === null ? problem("import_not_found") : answer({ import: view });
    }),
  ];
}

/** Unfinished reports and copies of databases, of imports that were killed: only one runs at a time. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const isLeftover = name.endsWith(".partial") || name.startsWith(".");
    if (isLeftover && name !== uploadsFolder)
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

function withTotals(view: ImportView, totals: ReportTotals): ImportView {
  const { items, findings, before, after, texts, differs } = totals;
  return { ...view, items, findings, before, after, texts, differs };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

async function* chunksOf(path: string): AsyncGenerator<string> {
  for await (const chunk of createReadStream(path, "utf8")) yield String(chunk);
}
