import { prepareHome } from "../../ops/config/home.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import { type Arguments, type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { reachHost } from "../connection/connect.ts";
import { findRunningHost } from "../connection/running-hosts.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { padTo } from "../screen/width.ts";
import { paintFor, type Style } from "../screen/paint.ts";
import { bad, type DoctorFinding, good } from "./finding.ts";
import { lookAtHome } from "./home.ts";
import { lookAtHost, lookAtPostgres } from "./host.ts";
import { lookAtServers, tryServers } from "./mcp.ts";
import {
  judgeOpenFiles,
  lookAtDisk,
  lookAtNode,
  lookAtPort,
  lookAtSqlite,
  readOpenFiles,
} from "./machine.ts";

export const doctor: Command = {
  usage: ["doctor"],
  about: [
    "Looks at everything that Holdfast stands on, and says how to mend what is wrong: Node, SQLite, the disk, the home and its",
    "rights, the settings, the port, the token, the store, the model and its provider (nothing is sent to it), memory, MCP servers,",
    "spills, the clock, open files. It ends with 1 if something is wrong.",
  ].join("\n"),
  flags: { json: { type: "boolean", about: "the findings as JSON" } },
  examples: [
    ["holdfast doctor", "before the first start, and whenever something seems odd"],
    ["holdfast doctor --json", "for whoever watches over many"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const findings = await examine(given, terminal);
    if (hasFlag(given, "json")) terminal.say(cleanJson(findings));
    else
      for (const finding of findings)
        for (const row of rowsOf(finding, terminal)) terminal.say(row);
    return findings.some(({ state }) => state === "bad") ? exit.failed : exit.done;
  },
};

async function examine(given: Arguments, terminal: Terminal): Promise<DoctorFinding[]> {
  const machine = [
    lookAtNode(process.versions.node),
    await lookAtSqlite(process.versions["sqlite"]),
    judgeOpenFiles(readOpenFiles()),
  ];
  const config = readConfig({ ...terminal, flags: given.flags });
  if (!config.ok) {
    const mend = "holdfast config schema shows what config.json may hold.";
    return [...machine, bad("Settings", config.failure.sentence, mend)];
  }
  const { home, host, port } = config.value;
  const findings = [
    ...machine,
    good("Settings", "every one of them is understood"),
    ...lookAtHome(config.value),
  ];
  // Where no home can be had there is nothing more to look at.
  if (!prepareHome(home.value).ok) return findings;
  return [
    ...findings,
    ...(await lookAtDisk(home.value)),
    await lookAtPort(host.value, port.value, await findRunningHost(home.value)),
    ...(await lookAtPostgres(config.value)),
    ...(await lookInside(given, terminal)),
  ];
}

async function lookInside(given: Arguments, terminal: Terminal): Promise<DoctorFinding[]> {
  const reports: string[] = [];
  const reached = await reachHost(given, terminal, {
    here: "rests",
    report: (bug) => reports.push(bug.message),
  });
  if (!reached.ok)
    return [bad("Host", reached.failure.sentence, "Mend what stands above, and look again.")];
  const { client, close, config, where } = reached.value;
  try {
    const findings = [
      ...(await lookAtHost(client, config.home.value)),
      ...(where === "server" ? await lookAtServers(client) : await tryServers(config)),
    ];
    const told = reports.map((words) => bad("Host", words, "holdfast fsck says more."));
    return [...findings, ...told];
  } finally {
    await close();
  }
}

const marks: Record<DoctorFinding["state"], readonly [string, Style]> = {
  good: ["✓", "good"],
  care: ["!", "accent"],
  bad: ["✗", "bad"],
};

function rowsOf({ what, state, words, mend }: DoctorFinding, terminal: Terminal): string[] {
  const paint = paintFor(terminal.output, terminal.environment);
  const [mark, style] = marks[state];
  const row = `${paint(style, mark)} ${padTo(what, 12)} ${cleanLine(words)}`;
  return mend === undefined ? [row] : [row, `               → ${cleanLine(mend)}`];
}
