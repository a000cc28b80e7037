import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Client, describeError } from "@holdfast/client";
import {
  importKinds,
  importSourceInfo,
  type ImportSourceName,
  type ImportView,
  sleep,
} from "@holdfast/protocol";
import { z } from "zod";

import { parseReport, type ReportItem } from "../../../ops/import/report.ts";
import { printCells } from "../../actions.ts";
import { type Arguments, exit, hasFlag, type Terminal, textFlag } from "../../command.ts";
import { withHost } from "../../connection/connect.ts";
import { cleanJson, cleanLine } from "../../screen/text.ts";
import { transferStrings } from "../../strings/data.ts";

const texts = transferStrings.import;
const pollMs = 300;
const progressMs = 2_000;

/** `holdfast import hermes [folder]`: in the running host if there is one, else in this process. */
export async function importHome(
  source: ImportSourceName,
  given: Arguments,
  terminal: Terminal,
): Promise<number> {
  const only = z.array(z.enum(importKinds)).safeParse(kindsIn(textFlag(given, "only")));
  if (!only.success) {
    const kind = kindsIn(textFlag(given, "only")).find(
      (each) => !importKinds.some((known) => known === each),
    );
    terminal.printError(texts.badKind(cleanLine(kind ?? ""), importKinds.join(", ")));
    return exit.misuse;
  }
  const [, named] = given.words;
  const places = named === undefined ? usualPlaces(source, terminal) : [resolve(named)];
  if (places.length === 0) {
    terminal.printError(texts.exportMissing(source));
    return exit.misuse;
  }
  const path = places.find((place) => existsSync(place));
  if (path === undefined) {
    terminal.printError(texts.homeMissing(source, places.map(cleanLine).join(", ")));
    return exit.misuse;
  }
  const profile = textFlag(given, "profile");
  return withHost(given, terminal, async ({ client }) => {
    const started = await client.startImport({
      body: {
        source,
        path,
        mode: hasFlag(given, "dry-run") ? "dry" : "write",
        only: only.data,
        ...(profile !== undefined && { profile }),
        secrets: hasFlag(given, "secrets") ? "taken" : "left",
      },
    });
    if (!started.ok) {
      terminal.printError(cleanLine(describeError(started.error)));
      return exit.failed;
    }
    const ended = await waitForEnd(client, started.value.import, terminal);
    return ended === null ? exit.failed : printEnd(ended, terminal);
  });
}

function kindsIn(given: string | undefined): readonly string[] {
  return (given ?? "")
    .split(",")
    .map((kind) => kind.trim())
    .filter((kind) => kind !== "");
}

/** The variables that move a program's folder, and where in it is what an import reads. */
const folderVariables: Readonly<
  Record<ImportSourceName, readonly { readonly name: string; readonly below: string }[]>
> = {
  hermes: [
    { name: "ARGUS_HOME", below: "" },
    { name: "HERMES_HOME", below: "" },
  ],
  chatgpt: [],
  claude: [],
  "claude-code": [{ name: "CLAUDE_CONFIG_DIR", below: "projects" }],
  codex: [{ name: "CODEX_HOME", below: "sessions" }],
};

/** Where a program keeps its data, in the order in which it looks. A download may be anywhere. */
function usualPlaces(
  source: ImportSourceName,
  { environment, personFolder }: Terminal,
): readonly string[] {
  const moved = folderVariables[source].flatMap(({ name, below }) => {
    const place = environment[name] ?? "";
    return place === "" ? [] : [join(place, below)];
  });
  const { usualFolder } = importSourceInfo[source];
  const usual = usualFolder === null ? [] : [join(personFolder, usualFolder)];
  const older = source === "hermes" ? [join(personFolder, ".argus")] : [];
  return [...moved, ...usual, ...older];
}

async function waitForEnd(
  client: Client,
  started: ImportView,
  terminal: Terminal,
): Promise<ImportView | null> {
  let view = started;
  let lastShown = 0;
  for (let waited = 0; view.state === "running"; waited += pollMs) {
    await sleep(pollMs);
    const read = await client.readImport({ params: { id: started.id } });
    if (!read.ok) {
      terminal.printError(cleanLine(describeError(read.error)));
      return null;
    }
    view = read.value.import;
    if (view.state !== "running" || waited - lastShown < progressMs) continue;
    lastShown = waited;
    const sessions = Object.values(view.items["session"] ?? {}).reduce((sum, n) => sum + n, 0);
    const messages = Object.values(view.before).reduce((sum, n) => sum + n, 0);
    const { expected = null } = view;
    terminal.printError(
      expected === null
        ? texts.progress(sessions, messages)
        : texts.progressOf(sessions, expected, messages),
    );
  }
  return view;
}

function printEnd(view: ImportView, terminal: Terminal): number {
  printTotals(view, terminal);
  if (view.dryRun) terminal.print(texts.dry);
  if (view.report !== null) terminal.print(texts.report(cleanLine(view.report)));
  if (view.state !== "failed") return view.differs === 0 ? exit.done : exit.failed;
  terminal.printError(texts.stopped(cleanLine(view.failure ?? "")));
  return exit.failed;
}

type Totals = Pick<
  ImportView,
  "items" | "findings" | "before" | "after" | "texts" | "differs" | "dryRun"
>;

function printTotals(totals: Totals, terminal: Terminal): void {
  for (const [kind, outcomes] of Object.entries(totals.items))
    terminal.print(texts.items(texts.kinds[kind] ?? cleanLine(kind), outcomesText(outcomes)));
  if (Object.keys(totals.before).length > 0 && !totals.dryRun) {
    terminal.print(texts.messagesHeading);
    for (const [role, before] of Object.entries(totals.before))
      terminal.print(texts.messages(cleanLine(role), before, totals.after[role] ?? 0));
    terminal.print(
      totals.differs === 0
        ? texts.proven(totals.texts)
        : texts.differing(totals.differs, totals.texts),
    );
  }
  const findings: Record<string, number> = {};
  for (const outcomes of Object.values(totals.findings))
    for (const [outcome, count] of Object.entries(outcomes))
      findings[outcome] = (findings[outcome] ?? 0) + count;
  if (Object.keys(findings).length > 0) terminal.print(texts.findings(outcomesText(findings)));
}

function outcomesText(outcomes: Readonly<Record<string, number>>): string {
  return Object.entries(outcomes)
    .map(([outcome, count]) => texts.outcome(count, cleanLine(outcome)))
    .join(", ");
}

/** `holdfast import report [import]`: what came of it, item by item. */
export async function showReport(given: Arguments, terminal: Terminal): Promise<number> {
  return withHost(given, terminal, async ({ client }) => {
    const [, named] = given.words;
    const listed = named === undefined ? await client.listImports({}) : undefined;
    if (listed?.ok === false) {
      terminal.printError(cleanLine(describeError(listed.error)));
      return exit.failed;
    }
    const id = named ?? listed?.value.imports.find(({ report }) => report !== null)?.id;
    if (id === undefined) {
      terminal.printError(texts.noReport);
      return exit.failed;
    }
    const read = await client.readImportReport({ params: { id } });
    if (!read.ok) {
      terminal.printError(cleanLine(describeError(read.error)));
      return exit.failed;
    }
    return printReport(read.value, given, terminal);
  });
}

async function printReport(text: string, given: Arguments, terminal: Terminal): Promise<number> {
  const rows: string[][] = [];
  const summary = await parseReport(text.split("\n"), (item) => {
    if (hasFlag(given, "json")) terminal.print(cleanJson(item));
    else rows.push(...rowsOf(item, hasFlag(given, "all") ? "all" : "remarkable"));
  });
  if (summary === null) {
    terminal.printError(texts.noReport);
    return exit.failed;
  }
  if (hasFlag(given, "json")) return exit.done;
  const { source, path, startedAt, dryRun } = summary.head;
  const time = new Date(startedAt).toISOString();
  terminal.print(texts.reportHead(cleanLine(source), cleanLine(path), time));
  printTotals({ ...summary.totals, dryRun }, terminal);
  await printCells(terminal, rows);
  return exit.done;
}

const ordinary: ReadonlySet<string> = new Set(["taken", "merged", "known"]);

function rowsOf(item: ReportItem, which: "all" | "remarkable"): string[][] {
  const about = item.session ?? item.path ?? "";
  const remarks = (item.remarks ?? []).filter(
    ({ outcome }) => which === "all" || outcome !== "note",
  );
  const isShown =
    which === "all" || !ordinary.has(item.outcome) || remarks.length > 0 || (item.differs ?? 0) > 0;
  if (!isShown) return [];
  const told = item.item === "finding" ? (item.code ?? "") : item.item;
  const name = item.reason === undefined ? item.name : `${item.name} (${item.reason})`;
  return [
    [item.outcome, told, name, about],
    ...remarks.map(({ outcome, code, text, path }) => [`  ${outcome}`, code, text, path]),
  ];
}
