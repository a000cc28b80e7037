import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { type AuditReport, verifyAudit } from "../../ops/audit/verify-audit.ts";
import { systemCode } from "../../util/outcome.ts";
import { type Command, exit, hasFlag, textFlag } from "../command.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";

export const verify: Command = {
  usage: ["verify <file>"],
  about: [
    "Checks an audit export: that no event was changed, removed or inserted, and who signed it. It needs no host and no",
    "network. Exit codes: 0 if nothing is wrong, 1 if something is.",
  ].join("\n"),
  flags: {
    key: {
      type: "string",
      value: "id",
      about: "the key that must have signed it (holdfast doctor)",
    },
    json: { type: "boolean", about: "the whole result as JSON" },
  },
  examples: [
    ["holdfast export garden --format audit --to garden.jsonl", "writes the file to check"],
    [
      "holdfast verify garden.jsonl --key 1f0c9a7e22b4d681",
      "also requires the signature of this host",
    ],
  ],
  settings: "none",
  async run(given, terminal) {
    const [file] = given.words;
    if (file === undefined) {
      terminal.printError("Which file? holdfast verify garden.jsonl");
      return exit.misuse;
    }
    let report: AuditReport;
    try {
      const lines = createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity });
      report = await verifyAudit(lines, textFlag(given, "key"));
    } catch (error) {
      terminal.printError(`${file} cannot be read (${systemCode(error)}).`);
      return exit.failed;
    }
    if (hasFlag(given, "json")) terminal.print(cleanJson(report));
    else for (const line of describe(report)) terminal.print(cleanLine(line));
    return report.problems.length === 0 ? exit.done : exit.failed;
  },
};

function* describe(report: AuditReport): Generator<string> {
  const { session, events, unlinked, redacted, signatures, problems } = report;
  for (const { code, message } of problems) yield `${code}  ${message}`;
  if (session === null) return;
  yield `${session}: ${events} events, ${problems.length === 0 ? "all as they were written" : "not as they were written"}.`;
  if (unlinked > 0)
    yield `${unlinked} of them were written before events were linked, so they cannot be checked.`;
  if (redacted > 0)
    yield `${redacted} of them are shown without their secrets; their hashes match.`;
  for (const { key, seq, at } of signatures)
    yield `Signed by ${key} up to event ${seq} on ${new Date(at).toISOString()}.`;
}
