import { prepareHome } from "../../ops/config/home.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import { type Arguments, type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { connectHost } from "../connection/connect.ts";
import { findRunningHost } from "../connection/running-hosts.ts";
import { cleanJson } from "../screen/text.ts";
import { doctorStrings } from "../strings/doctor.ts";
import { errorFinding, type DoctorFinding, okFinding } from "./finding.ts";
import { printFindings } from "./print-findings.ts";
import { checkBackups } from "./backups.ts";
import { checkHome } from "./home.ts";
import { checkHost, checkPostgres } from "./host.ts";
import { checkObjectStorage } from "./object-storage.ts";
import { checkSavedFiles } from "./saved-files.ts";
import { checkSecrets } from "./secrets.ts";
import { checkEscapes, checkSandbox } from "./sandbox.ts";
import { checkServedMcp, checkConfiguredMcp } from "./mcp.ts";
import {
  openFilesFinding,
  checkDisk,
  checkNode,
  checkPort,
  checkSqlite,
  readOpenFileLimit,
} from "./machine.ts";

const texts = doctorStrings;
const { checks } = texts;

export const doctor: Command = {
  usage: ["doctor"],
  about: texts.about,
  flags: {
    json: { type: "boolean", about: texts.flags.json },
    escape: { type: "boolean", about: texts.flags.escape },
  },
  examples: [
    ["holdfast doctor", texts.examples.doctor],
    ["holdfast doctor --json", texts.examples.json],
    ["holdfast doctor --escape", texts.examples.escape],
  ],
  settings: "reach",
  async run(given, terminal) {
    const findings = hasFlag(given, "escape")
      ? await runEscapes(given, terminal)
      : await runChecks(given, terminal);
    if (hasFlag(given, "json")) terminal.print(cleanJson(findings));
    else printFindings(findings, terminal);
    return findings.some(({ state }) => state === "bad") ? exit.failed : exit.done;
  },
};

async function runEscapes(given: Arguments, terminal: Terminal): Promise<DoctorFinding[]> {
  const config = readConfig({ ...terminal, flags: given.flags });
  if (!config.ok)
    return [errorFinding(checks.settings, config.failure.message, texts.settings.mend)];
  const { home } = config.value;
  const prepared = prepareHome(home.value);
  if (!prepared.ok) return [errorFinding(checks.home, prepared.failure.message, texts.home.mend)];
  return checkEscapes(config.value, terminal.environment);
}

async function runChecks(given: Arguments, terminal: Terminal): Promise<DoctorFinding[]> {
  const machine = [
    checkNode(process.versions.node),
    await checkSqlite(process.versions["sqlite"]),
    openFilesFinding(readOpenFileLimit()),
  ];
  const config = readConfig({ ...terminal, flags: given.flags });
  if (!config.ok) {
    return [...machine, errorFinding(checks.settings, config.failure.message, texts.settings.mend)];
  }
  const { home, host, port } = config.value;
  const findings = [
    ...machine,
    okFinding(checks.settings, texts.settings.ok),
    ...checkHome(config.value),
  ];
  // Without a home there is nothing more to check.
  if (!prepareHome(home.value).ok) return findings;
  return [
    ...findings,
    ...(await checkDisk(home.value)),
    ...(await checkBackups(config.value, Date.now())),
    await checkSavedFiles(config.value, Date.now()),
    ...(await checkSandbox(config.value)),
    await checkPort(host.value, port.value, await findRunningHost(home.value)),
    ...(await checkPostgres(config.value)),
    ...(await checkObjectStorage(config.value)),
    ...(await checkRunningHost(given, terminal)),
  ];
}

async function checkRunningHost(given: Arguments, terminal: Terminal): Promise<DoctorFinding[]> {
  const reports: string[] = [];
  const connection = await connectHost(given, terminal, {
    localMode: "rests",
    report: (bug) => reports.push(bug.message),
  });
  if (!connection.ok)
    return [errorFinding(checks.host, connection.failure.message, texts.host.fixFirst)];
  const { client, close, config, location } = connection.value;
  try {
    const findings = [
      ...(await checkHost(client, config.home.value)),
      await checkSecrets(config),
      ...(location === "server" ? await checkServedMcp(client) : await checkConfiguredMcp(config)),
    ];
    const reportFindings = reports.map((message) =>
      errorFinding(checks.host, message, texts.host.fsck),
    );
    return [...findings, ...reportFindings];
  } finally {
    await close();
  }
}
