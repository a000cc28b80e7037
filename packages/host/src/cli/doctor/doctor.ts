import { prepareHome } from "../../ops/config/home.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import { type Arguments, type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { connectHost } from "../connection/connect.ts";
import { findRunningHost } from "../connection/running-hosts.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { padTo } from "../screen/width.ts";
import { createPaint, type Style } from "../screen/paint.ts";
import { errorFinding, type DoctorFinding, okFinding } from "./finding.ts";
import { checkHome } from "./home.ts";
import { checkHost, checkPostgres } from "./host.ts";
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

export const doctor: Command = {
  usage: ["doctor"],
  about: [
    "Looks at everything that Holdfast stands on, and says how to mend what is wrong: Node, SQLite, the disk, the home and its",
    "rights, the settings, the port, the token, the store, the model and its provider (nothing is sent to it), memory, MCP servers,",
    "the sandbox, spills, the clock, open files. It ends with 1 if something is wrong.",
  ].join("\n"),
  flags: {
    json: { type: "boolean", about: "the findings as JSON" },
    escape: { type: "boolean", about: "try twenty ways out of the sandbox, and say what held" },
  },
  examples: [
    ["holdfast doctor", "before the first start, and whenever something seems odd"],
    ["holdfast doctor --json", "for whoever watches over many"],
    ["holdfast doctor --escape", "whether the sandbox holds on this machine"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const findings = hasFlag(given, "escape")
      ? await runEscapes(given, terminal)
      : await runChecks(given, terminal);
    if (hasFlag(given, "json")) terminal.print(cleanJson(findings));
    else
      for (const finding of findings)
        for (const row of rowsOf(finding, terminal)) terminal.print(row);
    return findings.some(({ state }) => state === "bad") ? exit.failed : exit.done;
  },
};

async function runEscapes(given: Arguments, terminal: Terminal): Promise<DoctorFinding[]> {
  const config = readConfig({ ...terminal, flags: given.flags });
  if (!config.ok) return [errorFinding("Settings", config.failure.message, schemaHint)];
  const { home } = config.value;
  const prepared = prepareHome(home.value);
  if (!prepared.ok)
    return [errorFinding("Home", prepared.failure.message, "Name another with HOLDFAST_HOME.")];
  return checkEscapes(config.value, terminal.environment);
}

const schemaHint = "holdfast config schema shows what config.json may hold.";

async function runChecks(given: Arguments, terminal: Terminal): Promise<DoctorFinding[]> {
  const machine = [
    checkNode(process.versions.node),
    await checkSqlite(process.versions["sqlite"]),
    openFilesFinding(readOpenFileLimit()),
  ];
  const config = readConfig({ ...terminal, flags: given.flags });
  if (!config.ok) {
    return [...machine, errorFinding("Settings", config.failure.message, schemaHint)];
  }
  const { home, host, port } = config.value;
  const findings = [
    ...machine,
    okFinding("Settings", "every one of them is understood"),
    ...checkHome(config.value),
  ];
  // Without a home there is nothing more to check.
  if (!prepareHome(home.value).ok) return findings;
  return [
    ...findings,
    ...(await checkDisk(home.value)),
    ...(await checkSandbox(config.value)),
    await checkPort(host.value, port.value, await findRunningHost(home.value)),
    ...(await checkPostgres(config.value)),
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
    return [
      errorFinding("Host", connection.failure.message, "Mend what stands above, and look again."),
    ];
  const { client, close, config, location } = connection.value;
  try {
    const findings = [
      ...(await checkHost(client, config.home.value)),
      await checkSecrets(config),
      ...(location === "server" ? await checkServedMcp(client) : await checkConfiguredMcp(config)),
    ];
    const reportFindings = reports.map((message) =>
      errorFinding("Host", message, "holdfast fsck says more."),
    );
    return [...findings, ...reportFindings];
  } finally {
    await close();
  }
}

const stateMarks: Record<DoctorFinding["state"], readonly [string, Style]> = {
  good: ["✓", "good"],
  care: ["!", "accent"],
  bad: ["✗", "bad"],
};

function rowsOf({ what, state, words, mend }: DoctorFinding, terminal: Terminal): string[] {
  const paint = createPaint(terminal.output, terminal.environment);
  const [mark, style] = stateMarks[state];
  const row = `${paint(style, mark)} ${padTo(what, 12)} ${cleanLine(words)}`;
  return mend === undefined ? [row] : [row, `               → ${cleanLine(mend)}`];
}
