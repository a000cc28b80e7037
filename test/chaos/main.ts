// npm run chaos -- <subject> [--option value …]
import { gatewaySubject } from "./gateway/subject.ts";
import { nodesSubject } from "./nodes/subject.ts";
import { simSubject } from "./sim/subject.ts";
import { processesSubject } from "./processes/subject.ts";
import { storeSubject } from "./store/subject.ts";
import { type Subject, UsageError } from "./subject.ts";

const subjects: Readonly<Record<string, Subject>> = {
  store: storeSubject,
  sim: simSubject,
  processes: processesSubject,
  gateway: gatewaySubject,
  nodes: nodesSubject,
};

const usage = Object.values(subjects)
  .map((subject) => `usage: npm run chaos -- ${subject.usage}`)
  .join("\n");

/** The error of parseArgs for an unknown option. */
const isMistyped = (error: unknown): error is Error =>
  error instanceof UsageError ||
  (error instanceof TypeError &&
    "code" in error &&
    String(error.code).startsWith("ERR_PARSE_ARGS"));

const [name = "", ...args] = process.argv.slice(2);
try {
  const subject = subjects[name];
  if (subject === undefined) throw new UsageError("There is no such subject.");
  process.exitCode = await subject.run(args);
} catch (error) {
  if (!isMistyped(error)) throw error;
  console.error(`${error.message}\n${usage}`);
  process.exitCode = 2;
}
