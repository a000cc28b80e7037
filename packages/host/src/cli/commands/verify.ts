import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { type AuditReport, verifyAudit } from "../../ops/audit/verify-audit.ts";
import type { ExportReport } from "../../ops/full-export/check-export.ts";
import { systemCode } from "../../util/outcome.ts";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../command.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { verifyStrings as texts } from "../strings/data.ts";

export const verify: Command = {
  usage: ["verify <file>"],
  about: texts.about,
  flags: {
    key: {
      type: "string",
      value: "id",
      about: texts.flags.key,
    },
    json: { type: "boolean", about: texts.flags.json },
  },
  examples: [
    ["holdfast export garden --format audit --to garden.jsonl", texts.examples.export],
    ["holdfast verify garden.jsonl --key 1f0c9a7e22b4d681", texts.examples.verify],
  ],
  settings: "none",
  async run(given, terminal) {
    const [file] = given.words;
    if (file === undefined) {
      terminal.printError(texts.fileMissing);
      return exit.misuse;
    }
    const { isFullExport } = await import("./transfer/import-export.ts");
    if (await isFullExport(file)) return verifyExport(file, given, terminal);
    let report: AuditReport;
    try {
      const lines = createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity });
      report = await verifyAudit(lines, textFlag(given, "key"));
    } catch (error) {
      terminal.printError(texts.unreadable(file, systemCode(error) ?? ""));
      return exit.failed;
    }
    if (hasFlag(given, "json")) terminal.print(cleanJson(report));
    else for (const line of describe(report)) terminal.print(cleanLine(line));
    return report.problems.length === 0 ? exit.done : exit.failed;
  },
};

async function verifyExport(file: string, given: Arguments, terminal: Terminal): Promise<number> {
  const { checkExport } = await import("../../ops/full-export/check-export.ts");
  const checked = await checkExport(createReadStream(file), textFlag(given, "key"));
  if (hasFlag(given, "json")) terminal.print(cleanJson(checked));
  else for (const line of describeExport(checked)) terminal.print(cleanLine(line));
  return checked.problem === null ? exit.done : exit.failed;
}

function* describeExport({ logs, events, blobs, damaged, signature, problem }: ExportReport) {
  if (problem !== null) yield texts.wholeFault(problem.line, problem.code, problem.message);
  else yield texts.whole(logs, events, blobs);
  if (damaged > 0) yield texts.wholeDamaged(damaged);
  if (signature !== null)
    yield texts.wholeSigned(signature.key, new Date(signature.at).toISOString());
}

function* describe(report: AuditReport): Generator<string> {
  const { session, events, unlinked, redacted, signatures, problems } = report;
  for (const { code, message } of problems) yield `${code}  ${message}`;
  if (session === null) return;
  yield (problems.length === 0 ? texts.intact : texts.changed)(session, events);
  if (unlinked > 0) yield texts.unlinked(unlinked);
  if (redacted > 0) yield texts.redacted(redacted);
  for (const { key, seq, at } of signatures)
    yield texts.signed(key, seq, new Date(at).toISOString());
}
